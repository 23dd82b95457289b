/* Decodes a JPEG to a binary PPM through libjpeg: djpeg IN.jpg OUT.ppm
 *
 * With the exact integer inverse DCT, smooth chroma, and block smoothing where the scans end early. */
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

int main(int argc, char **argv) {
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *out = in ? fopen(argv[2], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "usage: djpeg IN.jpg OUT.ppm\n");
        return 2;
    }
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_stdio_src(&jpeg, in);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.dct_method = JDCT_ISLOW;
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    fprintf(out, "P6\n%u %u\n255\n", jpeg.output_width, jpeg.output_height);
    JSAMPROW row = malloc(3 * (size_t)jpeg.output_width);
    while (row && jpeg.output_scanline < jpeg.output_height) {
        jpeg_read_scanlines(&jpeg, &row, 1);
        fwrite(row, 3, jpeg.output_width, out);
    }
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    free(row);
    return fclose(out) ? 1 : 0;
}
