/* Encodes a binary PPM as a JPEG through libjpeg: cjpeg IN.ppm OUT.jpg
 *
 * Progressive, with the exact integer DCT and optimized Huffman tables, at quality 75. */
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

int main(int argc, char **argv) {
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *out = in ? fopen(argv[2], "wb") : NULL;
    unsigned width, height;
    if (!out || fscanf(in, "P6 %u %u 255", &width, &height) != 2 || getc(in) != '\n') {
        fprintf(stderr, "usage: cjpeg IN.ppm OUT.jpg\n");
        return 2;
    }
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, out);
    jpeg.image_width = width;
    jpeg.image_height = height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 75, TRUE);
    jpeg.dct_method = JDCT_ISLOW;
    jpeg.optimize_coding = TRUE;
    jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    JSAMPROW row = malloc(3 * (size_t)width);
    while (row && jpeg.next_scanline < height && fread(row, 3, width, in) == width)
        jpeg_write_scanlines(&jpeg, &row, 1);
    if (!row || jpeg.next_scanline < height) {
        fprintf(stderr, "%s: ends within the image\n", argv[1]);
        return 2;
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    return fclose(out) ? 1 : 0;
}
