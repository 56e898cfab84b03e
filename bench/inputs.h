/* Input files for measured runs: a sky model and an array of any size. */
#ifndef GROVE_BENCH_INPUTS_H
#define GROVE_BENCH_INPUTS_H

/* Creates a temporary folder; bench_remove_folder removes it. Ends the program on failure. `folder`
 * has room for 256 bytes. */
void bench_make_folder(char folder[256]);
void bench_remove_folder(const char *folder);
/* FOLDER/sky.skymodel: points within half a degree of 0h2m0s -30d0m0s. */
void bench_write_sky(const char *folder, int sources);
/* FOLDER/x.array: stations over a few kilometres, on a spiral. */
void bench_write_array(const char *folder, int stations);

#endif
