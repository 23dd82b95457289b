/* What an embedded program does without a mathematics library of its own: basicmath ROUNDS
 *
 * Real roots of cubic equations, integer square roots, angles from degrees to radians and back; each result printed. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;

/* The real roots of a x^3 + b x^2 + c x + d, a not 0; returns how many. Cardano, by cosines where there are three. */
static int cubic_roots(double a, double b, double c, double d, double roots[3]) {
    double shift = b / (3 * a);
    double p = c / a - 3 * shift * shift;
    double q = 2 * shift * shift * shift - shift * c / a + d / a;
    double discriminant = q * q / 4 + p * p * p / 27;
    if (discriminant > 0) {
        double root = sqrt(discriminant);
        roots[0] = cbrt(-q / 2 + root) + cbrt(-q / 2 - root) - shift;
        return 1;
    }
    double radius = 2 * sqrt(-p / 3);
    double angle = p == 0 ? 0 : acos(fmax(-1, fmin(1, 3 * q / (p * radius))));
    for (int i = 0; i < 3; i++)
        roots[i] = radius * cos((angle - 2 * PI * i) / 3) - shift;
    return 3;
}

/* The largest number whose square is not above `value`: a bit of it at a time. */
static uint32_t integer_root(uint32_t value) {
    uint32_t root = 0;
    for (uint32_t bit = UINT32_C(1) << 30; bit > 0; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return root;
}

static double radians(double degrees) {
    return degrees * PI / 180;
}

static double degrees(double radians) {
    return radians * 180 / PI;
}

int main(int argc, char **argv) {
    int rounds = argc == 2 ? atoi(argv[1]) : 0;
    if (rounds < 1) {
        fprintf(stderr, "usage: basicmath ROUNDS\n");
        return 2;
    }
    double roots[3];
    for (int i = 0; i < rounds; i++)
        for (int b = 10; b > -10; b -= 2)
            for (double c = 5; c < 15; c += 1.25) {
                int found = cubic_roots(1 + i, b, c, -1 - i % 7, roots);
                printf("%d roots:", found);
                for (int root = 0; root < found; root++)
                    printf(" %f", roots[root]);
                putchar('\n');
            }
    for (uint32_t value = 0; value < 300u * (uint32_t)rounds; value++)
        printf("sqrt(%u) = %u\n", (unsigned)value * 2654435761u, (unsigned)integer_root(value * 2654435761u));
    for (int i = 0; i <= 36 * rounds; i++)
        printf("%f degrees = %f radians\n", 10.0 * i / rounds, radians(10.0 * i / rounds));
    for (int i = 0; i <= 36 * rounds; i++)
        printf("%f radians = %f degrees\n", PI * i / 18 / rounds, degrees(PI * i / 18 / rounds));
    return 0;
}
