/* Makes a test image: a binary PPM of WIDTH x HEIGHT on standard output, the same every time.
 *
 * What an encoder meets in photographs is there: smooth shades, edges of discs, a fine texture, and noise. Whole
 * numbers only, so that every machine makes the same bytes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t state = 1;

static int noise(int range) {
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 16) % range;
}

static int clamped(int value) {
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: image WIDTH HEIGHT\n");
        return 2;
    }
    int width = atoi(argv[1]), height = atoi(argv[2]);
    printf("P6\n%d %d\n255\n", width, height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int red = 255 * x / width, green = 255 * y / height, blue = 128;
            for (int disc = 0; disc < 5; disc++) {
                int dx = x - width * (2 * disc + 1) / 10, dy = y - height * (disc * 3 % 5 + 1) / 6;
                if (dx * dx + dy * dy < width * height / (40 + 20 * disc)) {
                    red = 255 - red / (disc + 1);
                    blue = 50 * disc;
                }
            }
            if ((x / 4 + y / 4) % 2 && x > width / 2 && y > height / 2)
                green /= 2;
            putchar(clamped(red + noise(9) - 4));
            putchar(clamped(green + noise(9) - 4));
            putchar(clamped(blue + noise(9) - 4));
        }
    return 0;
}
