/* Where steps compute and where their values lie: on the session's device where it has code and
 * memory for that, else on the host. */
#ifndef GROVE_RUN_LAUNCH_H
#define GROVE_RUN_LAUNCH_H

#include "plan/program.h"
#include "run/state.h"

/* Opens what the options name: session->host always, session->devices if any. On failure there is a
 * message; grove_launch_close is due anyway. */
int grove_launch_open(grove_session *session, grove_error *error);
void grove_launch_close(grove_session *session);
/* Whether values may lie elsewhere than on the host. */
bool grove_launch_is_away(const grove_session *session);
/* How many tiles may be under way, from launching to writing: one for each device, and one. */
enum { GROVE_MOST_FLIGHTS = 9 };
int grove_launch_flights(const grove_session *session);
/* Chooses the device for tile number `tile` of a pass. */
void grove_launch_turn(grove_session *session, int64_t tile);

/* Sets the bytes that the values of a pass may take, wherever they lie. */
void grove_launch_budget(grove_session *session);
/* Devices have less than they promised: makes do with half of it. */
void grove_launch_halve_budget(grove_session *session);
/* Makes room on the host where memory would not do, by letting go of cached values. */
void grove_launch_room(grove_session *session, uint64_t bytes);

/* What is to run on the session's device. Addresses in `args` only say where within the values. */
typedef struct {
    const grove_kernel *kernel;
    const grove_args *args;
    bool double_;
    grove_value *out; /* gets storage on the device if it has none */
    grove_value *in[GROVE_MAX_INPUTS];
    grove_buffer *table; /* or NULL */
} grove_launch;

/* Whether the device has code for the kernel. */
bool grove_launch_has(grove_session *session, const grove_kernel *kernel, bool double_);
/* Launches. *done is false, and nothing has changed, when there is no memory for it: it is the
 * host's then; GROVE_AGAIN where a smaller tile may do. */
int grove_launch_run(grove_session *session, const grove_launch *launch, bool *done);

/* Whether a kernel reading this value had better run on the device: it is there and not here. */
bool grove_launch_is_there(const grove_session *session, const grove_value *value);
/* What this thread has devices do from now on is timed for somebody (NULL: nobody), with profile.
 */
void grove_launch_bill(grove_session *session, grove_busy *to);
/* Waits for devices that are timed. */
void grove_launch_settle(grove_session *session);
/* Counts what devices did since the last call for a node; and all that they did, for the session.
 */
void grove_launch_claim(grove_session *session, const grove_node *node);
void grove_launch_count(grove_session *session);
/* Address of the data on the host, copied back if need be; counted. NULL value: nothing. */
int grove_launch_fetch(grove_session *session, grove_value *value);
/* Address of a buffer on the host; from any thread, not counted. */
int grove_launch_address(grove_session *session, grove_buffer *buffer, void **at);
/* The buffer of a member's data or of a constant, kept for the session so that a device has it
 * once; NULL if it is not there yet, or need not be kept. A reference. */
grove_buffer *grove_launch_kept(grove_session *session, const grove_node *node);
void grove_launch_keep(grove_session *session, const grove_node *node, grove_buffer *buffer);

#endif
