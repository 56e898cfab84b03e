/* Faults of the system, one at a chosen call: the functions that change, look at and read files are
 * defined in the test program, which comes before the C library, and count. */
#ifndef GROVE_TESTS_FAULTS_H
#define GROVE_TESTS_FAULTS_H

typedef enum {
    FAULTS_NONE,
    FAULTS_KILL, /* the process is killed before the call */
    FAULTS_FAIL, /* the call fails, what follows does not */
    FAULTS_DEAD, /* that call and all that follow fail: a disk that died */
    FAULTS_MODES
} faults_mode;

typedef enum {
    FAULTS_CHANGES, /* calls that change files */
    FAULTS_LOOKS,   /* those that look what there is, list, open for reading, and seek; not what
                       casacore does not check: its seeks, and its looks at a table.lock */
    FAULTS_READS,
    FAULTS_KINDS
} faults_kind;
void faults_choose(faults_kind kind); /* those that change files, unless it is called */

/* From now on, calls of this kind for files in `folder` are counted from 1; at number `at` the
 * fault happens. Nothing is synced, which only a machine that dies would show. */
void faults_arm(const char *folder, faults_mode mode, int at);
int faults_count(void);
/* Where this look, of those that were counted, came from; NULL: from another library. */
const void *faults_caller(int call);
/* Said before: who opens a file of a table for writing that is there then, under whatever name, is
 * killed by SIGUSR1. Not where something is recovered, which frees numbers of inodes. */
void faults_protect(int is);
/* Bytes that were written there since then, copies included. */
long long faults_written(void);
/* Some file systems cannot rename so that nothing is replaced, exchange names, or link. */
void faults_simple_system(int simple);

/* How folders and files are locked (flock, and fcntl, with which casacore locks tables). */
typedef enum {
    FAULTS_LOCKS,    /* as the system does it */
    FAULTS_NFS,      /* the system says that it is NFS; locks of folders fail, and exclusive ones of
                        files that are open for reading only */
    FAULTS_NO_LOCKS, /* none can be had: ENOLCK */
    FAULTS_NO_RECORD_LOCKS, /* not of fcntl: ENOSYS */
    FAULTS_READ_LOCKS /* those of fcntl for reading only, as of a file that is open for reading */
} faults_locking;
void faults_lock(faults_locking how);

#endif
