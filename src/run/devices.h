/* The devices of a session: opening them, their budgets, and which one computes a tile. */
#ifndef GROVE_RUN_DEVICES_H
#define GROVE_RUN_DEVICES_H

#include "plan/program.h"
#include "run/state.h"

/* Opens what the options name: session->host always, session->devices if any. On failure there is a
 * message; grove_devices_close is due anyway. */
int grove_devices_open(grove_session *session, grove_error *error);
void grove_devices_close(grove_session *session);
/* Whether there are others than the host. */
bool grove_devices_in_use(const grove_session *session);
/* How many tiles may be under way, from launching to writing: one for each device, and one. */
enum { GROVE_MAX_TILES_IN_FLIGHT = 9 };
int grove_devices_tiles_in_flight(const grove_session *session);
/* Chooses the device for tile number `tile` of a pass. */
void grove_devices_choose(grove_session *session, int64_t tile);
/* Writes the message of a device that failed, once a run: it fails in each thread that uses it.
 * Returns the code. */
int grove_devices_fail(grove_session *session, int code, const grove_error *reason);

/* Sets the bytes that the values of a pass may take, wherever they lie. */
void grove_devices_set_budget(grove_session *session);
/* Devices have less memory than their budgets say: halves the budget. */
void grove_devices_halve_budget(grove_session *session);
/* Drops cached values on the host where `bytes` more would exceed its limit. */
void grove_devices_make_host_room(grove_session *session, uint64_t bytes);
/* Drops what is on the session's device and not in use, until `bytes` are free or nothing is left;
 * true if any went. */
bool grove_devices_make_room(grove_session *session, uint64_t bytes);

/* The buffer of a member's data or of a constant, kept for the session so that it is copied to a
 * device once; NULL if it is not there yet, or need not be kept. A reference. */
grove_buffer *grove_devices_resident(grove_session *session, const grove_node *node);
void grove_devices_keep(grove_session *session, const grove_node *node, grove_buffer *buffer);

#endif
