/* Shared by making and undoing the changes of a record: one working folder and its list. */
#ifndef GROVE_BASE_RECORD_PRIVATE_H
#define GROVE_BASE_RECORD_PRIVATE_H

#include "base/file.h"
#include "unstable/record.h"

/* One name that changes. before.inode 0: it is new; after.inode 0: it goes. */
typedef struct {
    char *name;
    grove_file_mark before, after;
} grove_change;

/* The changes of one working folder, in the order in which they are made. */
typedef struct {
    char *work;  /* the working folder */
    char *home;  /* the working folder that has the record of the run */
    bool folder; /* one folder, or file, changes as a whole, next to `work`; else files of the
                    folder around it */
    grove_change *changes;
    size_t count, capacity;
} grove_change_list;

void grove_change_add(grove_change_list *list, const char *name, grove_file_mark before,
                      grove_file_mark after);
void grove_change_list_release(grove_change_list *list);
/* Writes the content of WORK/changes; it has that name, and is on disk, once the file is moved
 * there and the folder synced. NULL with a message. */
grove_file *grove_change_list_write(const grove_change_list *list, grove_error *error);
/* Reads it: 1 when it is there and good, 0 when it is not there. */
int grove_change_list_read(grove_change_list *list, const char *work, grove_error *error);
/* Working folders of one set name each other from the set on, so that it may move; others have
 * absolute paths. `line` is `work` as the record in `home` has it, and back. Caller frees. */
char *grove_record_line(const char *home, const char *work);
char *grove_record_line_path(const char *home, const char *line);
char *grove_change_target(const grove_change_list *list, const grove_change *change);

/* One working folder of a run. */
typedef struct {
    char *work;
    int lock;   /* of the working folder, as long as the run lives */
    char *name; /* of the folder or file that changes; NULL: files of a folder change */
    bool replace, added, without_lock;
    grove_change_list list; /* once committing */
    size_t made;            /* of its changes */
} grove_record_entry;

/* Writes down all that is to change, and the record in the first folder: all is on disk then. */
int grove_record_write_down(grove_record_entry *entries, size_t count, grove_error *error);

/* Whether every change was made; not if the run died before. */
int grove_change_list_made(const grove_change_list *list, bool *made, grove_error *error);
/* Whether every file is as in the list, before or after; undo restores changed files. */
int grove_change_list_check(const grove_change_list *list, grove_error *error);
int grove_change_list_undo(const grove_change_list *list, grove_error *error);
/* The lock of a working folder, which its run has as long as it lives: a file in it, or -1 with
 * errno, EWOULDBLOCK where another has it and ENOENT where there is none. Where the file system has
 * no locks, the file names the process and its host; if several processes take the lock of a run
 * that died, one gets it. */
int grove_record_lock(const char *work, bool create);
/* Gives the lock back: its file is removed if this process made it. */
void grove_record_unlock(const char *work, int lock);
/* After the commit: removes the files that go, then the working folder. */
void grove_change_list_tidy(const grove_change_list *list);

#endif
