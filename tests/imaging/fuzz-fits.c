/* FITS files of any headers: cards, a line each; an empty line ends a header, and behind it stand
 * as many bytes of data as the next line says, made from the rest of that line. Or, where the input
 * begins as a FITS file does, the bytes of a file. Either an image that keeps its promises, or a
 * message. */
#include "fits-testing.h"
#include "nodes/imaging/fits/image.h"
#include "tests/common/fuzz.h"

#include "base/error.h"

#include <strings.h>

static void fuzz_check(int good)
{
    if (!good)
        abort();
}

enum { MOST_DATA = 1 << 16 };

/* Header and data units from the text, which is written over. */
static char *make_file(char *text, size_t *length)
{
    static char data[MOST_DATA];
    char *bytes = NULL;

    *length = 0;
    for (char *unit = text; unit && *unit;) {
        char *end = strstr(unit, "\n\n"), *next = NULL;
        size_t size = 0;
        memset(data, 0, sizeof(data));
        if (end) {
            end[1] = 0;
            char *line = end + 2;
            next = strchr(line, '\n');
            size_t given = next ? (size_t)(next - line) : strlen(line);
            size = (size_t)strtoull(line, NULL, 10) % MOST_DATA;
            for (size_t i = 0; i < size && given; i++)
                data[i] = line[i % given];
            next = next ? next + 1 : NULL;
        }
        bytes = fits_append(bytes, length, unit, data, size);
        unit = next;
    }
    return bytes;
}

static void check_image(const grove_image *image)
{
    int64_t count = image->columns * image->rows * image->channels * image->stokes;
    double radec[2], sum = 0;

    fuzz_check(count > 0 && image->pixels && image->stokes <= GROVE_IMAGE_STOKES);
    for (int64_t i = 0; i < count; i++)
        sum += grove_image_at(image, i);
    for (int64_t k = 0; k < image->channels && image->freq; k++)
        fuzz_check(image->freq[k] > 0 && image->width[k] == image->width[k]);
    if (sum == 1)
        puts("a sum"); /* all were read */
    if (image->sky.projection[0])
        fuzz_check(grove_image_pixel_area(image) > 0);
    grove_image_centre(image, radec);
}

static bool has_word(const char *text, size_t size, const char *word)
{
    for (size_t k = 0; k + strlen(word) <= size; k++)
        if (!strncasecmp(text + k, word, strlen(word)))
            return true;
    return false;
}

/* cfitsio asks for as many columns as a header says, and takes it that there is no memory. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    if (has_word(text, size, "zimage")) {
        free(text);
        return 0;
    }
    grove_error *error = grove_error_new();
    bool whole = !strncmp(text, "SIMPLE  =                    T ", 31);
    size_t length = size;
    char *bytes = whole ? text : make_file(text, &length);
    grove_image *image = grove_image_read("input", bytes ? bytes : "", length, error);

    fuzz_check((image == NULL) == (grove_error_count(error) > 0));
    if (image)
        check_image(image);
    grove_image_free(image);
    grove_error_free(error);
    if (bytes != text)
        free(bytes);
    free(text);
    return 0;
}
