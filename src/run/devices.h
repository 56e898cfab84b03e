/* The devices of a session: opening them, their budgets, and the choice of a device for each tile.
 */
#ifndef GROVE_RUN_DEVICES_H
#define GROVE_RUN_DEVICES_H

#include "plan/program.h"
#include "run/state.h"

/* Opens the devices that the options name: always session->host, and session->devices if any. After
 * a failure, with a message, grove_devices_close must be called too. */
int grove_devices_open(grove_session *session, grove_error *error);
void grove_devices_close(grove_session *session);
/* Whether there are devices other than the host. */
bool grove_devices_in_use(const grove_session *session);
/* The number of a device in the session; 0 for the host. */
int grove_devices_index(const grove_session *session, const grove_device *device);
/* The number of tiles between launching and writing: one per device, plus one. */
enum { GROVE_MAX_TILES_IN_FLIGHT = 9 };
int grove_devices_tiles_in_flight(const grove_session *session);
/* Chooses the device for tile number `tile` of a pass. */
void grove_devices_choose(grove_session *session, int64_t tile);
/* Reports the failure of a device once per run, as it fails in every thread that uses it. Returns
 * the code. */
int grove_devices_fail(grove_session *session, int code, const grove_error *reason);

/* Whether the devices have room for the memory that the class, and classes before it in the tree,
 * keep there. */
bool grove_devices_can_keep(const grove_session *session, const grove_node *node);
/* Sets the budget for values of a pass, wherever they are. */
void grove_devices_set_budget(grove_session *session);
/* Halves the budget, because devices have less memory than planned. */
void grove_devices_halve_budget(grove_session *session);
/* Drops cached values on the host if `bytes` more would exceed its limit. */
void grove_devices_make_host_room(grove_session *session, uint64_t bytes);
/* Drops unused values from the session's device until `bytes` are free or nothing is left; true if
 * any were dropped. */
bool grove_devices_make_room(grove_session *session, uint64_t bytes);

/* A buffer of a member's data or of a constant, kept for the session so that it is copied to a
 * device only once. NULL if it does not exist yet, or need not be kept. A reference. */
grove_buffer *grove_devices_resident(grove_session *session, const grove_node *node);
void grove_devices_keep(grove_session *session, const grove_node *node, grove_buffer *buffer);

/* Whether the text is a valid device name; the device need not exist. */
bool grove_session_device_is_known(const char *name);

#endif
