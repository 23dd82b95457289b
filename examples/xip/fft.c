/* Fourier transforms of a sum of sines, there and back: fft WAVES LENGTH, LENGTH a power of two
 *
 * In place, by decimation in time, with sines and cosines as they are needed; spectrum and signal are printed. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;

static unsigned reversed(unsigned index, unsigned bits) {
    unsigned result = 0;
    for (; bits > 0; bits--, index >>= 1)
        result = result << 1 | (index & 1);
    return result;
}

static void swap(float *a, float *b) {
    float kept = *a;
    *a = *b;
    *b = kept;
}

/* `direction` is -1 for the transform, 1 for its inverse. */
static void transform(float *real, float *imaginary, unsigned length, int direction) {
    unsigned bits = 0;
    while (1u << bits < length)
        bits++;
    for (unsigned i = 0; i < length; i++) {
        unsigned other = reversed(i, bits);
        if (other > i) {
            swap(&real[i], &real[other]);
            swap(&imaginary[i], &imaginary[other]);
        }
    }
    for (unsigned half = 1; half < length; half *= 2)
        for (unsigned k = 0; k < half; k++) {
            double angle = direction * PI * k / half;
            float cosine = (float)cos(angle), sine = (float)sin(angle);
            for (unsigned i = k; i < length; i += 2 * half) {
                unsigned j = i + half;
                float x = real[j] * cosine - imaginary[j] * sine;
                float y = real[j] * sine + imaginary[j] * cosine;
                real[j] = real[i] - x;
                imaginary[j] = imaginary[i] - y;
                real[i] += x;
                imaginary[i] += y;
            }
        }
    if (direction > 0)
        for (unsigned i = 0; i < length; i++) {
            real[i] /= (float)length;
            imaginary[i] /= (float)length;
        }
}

int main(int argc, char **argv) {
    int waves = argc == 3 ? atoi(argv[1]) : 0;
    unsigned length = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    if (waves < 1 || length < 2 || (length & (length - 1))) {
        fprintf(stderr, "usage: fft WAVES LENGTH, LENGTH a power of two\n");
        return 2;
    }
    float *real = calloc(length, sizeof *real), *imaginary = calloc(length, sizeof *imaginary);
    if (!real || !imaginary)
        return 1;
    uint32_t state = 1;
    for (int wave = 0; wave < waves; wave++) {
        state = state * 1664525u + 1013904223u;
        double amplitude = (state >> 16) % 1000 / 10.0, frequency = 1 + (state >> 8) % (length / 2);
        for (unsigned i = 0; i < length; i++)
            real[i] += (float)(amplitude * cos(2 * PI * frequency * i / length));
    }
    transform(real, imaginary, length, -1);
    for (unsigned i = 0; i < length; i++)
        printf("%u: %f %f\n", i, real[i], imaginary[i]);
    transform(real, imaginary, length, 1);
    for (unsigned i = 0; i < length; i++)
        printf("%u: %f %f\n", i, real[i], imaginary[i]);
    free(real);
    free(imaginary);
    return 0;
}
