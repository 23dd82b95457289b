/* Makes every call of nandram_sim.h, and every misuse possible in C. The argument is a directory for its files. */
#include "nandram_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[4096];

#define DONE(call) done(__LINE__, (call))
#define HOLDS(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "sim.c:%d: %s does not hold\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

static void done(int line, int code) {
    if (code != NANDRAM_OK) {
        fprintf(stderr, "sim.c:%d: %d: %s\n", line, code, nandram_message());
        exit(1);
    }
}

static int misuses;

/* Checks that the message equals `words`, after the path if `words` begins with ": ". */
static void fails(int line, int found, int code, const char *words) {
    const char *message = nandram_message();
    if (words[0] == ':' && strncmp(message, path, strlen(path)) == 0)
        message += strlen(path);
    misuses++;
    if (found != code || strcmp(message, words) != 0) {
        fprintf(stderr, "sim.c:%d: found %d: %s\nexpected %d: %s\n", line, found, message, code, words);
        exit(1);
    }
}
#define FAILS(call, code, words) fails(__LINE__, (call), (code), (words))

static const nandram_sim_device drive = {
    .system = "nvme-client-tlc", .set = "scale=1/16\nhost.queue_depth=8", .prepare = "steady", .outstanding = 100};

static int open_one(nandram_sim_device device) {
    nandram_sim *none;
    return nandram_sim_open(&device, 1, 1, &none);
}

static void wrong_devices(void) {
    nandram_sim *none;
    nandram_sim_device two[2] = {drive, drive};
    FAILS(nandram_sim_open(&drive, 1, 1, NULL), NANDRAM_ARGUMENT, "simulation is NULL");
    FAILS(nandram_sim_open(NULL, 1, 1, &none), NANDRAM_ARGUMENT, "devices is NULL");
    FAILS(nandram_sim_open(NULL, 0, 1, &none), NANDRAM_ARGUMENT, "devices: found 0, expected 1 to 256");
    FAILS(open_one((nandram_sim_device){0}), NANDRAM_ARGUMENT, "device 0: system is NULL");
    FAILS(open_one((nandram_sim_device){.system = "\xff"}), NANDRAM_ARGUMENT, "device 0: system is not UTF-8");
    two[1].set = "\xff";
    FAILS(nandram_sim_open(two, 2, 1, &none), NANDRAM_ARGUMENT, "device 1: set is not UTF-8");
    two[1] = drive;
    two[1].prepare = "old";
    FAILS(nandram_sim_open(two, 2, 1, &none), NANDRAM_ARGUMENT,
          "device 1: prepare is `old`, expected none, fill, random, steady or rested");
    two[1] = drive;
    two[1].reserved = 1;
    FAILS(nandram_sim_open(two, 2, 1, &none), NANDRAM_ARGUMENT, "device 1: reserved is not 0");
    HOLDS(open_one((nandram_sim_device){.system = "nvme-client-tcl"}) == NANDRAM_SYSTEM);
    HOLDS(strstr(nandram_message(), "nvme-client-tlc"));
    HOLDS(open_one((nandram_sim_device){.system = "nvmm", .set = "flash.raed=1us"}) == NANDRAM_SYSTEM);
    HOLDS(strstr(nandram_message(), "flash.read"));
    misuses += 2;
    FAILS(open_one((nandram_sim_device){.system = "nvmm", .prepare = "fill"}), NANDRAM_SYSTEM,
          "nvmm: prepare: found fill, expected none for main memory");
    FAILS(open_one((nandram_sim_device){.system = "onenand-xip", .name = "phone"}), NANDRAM_SYSTEM,
          "phone: link.type: found onenand, expected a drive or main memory");
    FAILS(open_one((nandram_sim_device){.system = "dram-ssd"}), NANDRAM_SYSTEM,
          "dram-ssd: memory.files: found drive, expected main memory or a drive, each a device of its own");
    FAILS(open_one((nandram_sim_device){.system = "nvmm", .outstanding = UINT32_MAX}), NANDRAM_SYSTEM,
          "nvmm: outstanding: found 4294967295, expected 1 to 16777216");
}

static int submit(nandram_sim *simulation, nandram_sim_request request) {
    return nandram_sim_submit(simulation, &request, 1, NULL);
}

static void wrong_requests(nandram_sim *simulation) {
    nandram_sim_request good = {.at = 2000, .bytes = 4096}, bad;
    nandram_sim_request many[101] = {0};
    FAILS(nandram_sim_submit(NULL, &good, 1, NULL), NANDRAM_ARGUMENT, "simulation is NULL");
    FAILS(nandram_sim_submit(simulation, NULL, 1, NULL), NANDRAM_ARGUMENT, "requests is NULL");
    FAILS(nandram_sim_submit(simulation, &good, SIZE_MAX, NULL), NANDRAM_ARGUMENT, "count is 18446744073709551615");
    bad = good, bad.op = 5;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT, "request 0: op is 0x5, expected 0 to 4");
    bad = good, bad.op = NANDRAM_SIM_FUA | NANDRAM_SIM_READ;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT,
          "request 0: op is 0x80, expected NANDRAM_SIM_FUA with NANDRAM_SIM_WRITE alone");
    bad = good, bad.reserved[1] = 1;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT, "request 0: reserved is not 0");
    bad = good, bad.device = 3;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT, "request 0: device: found 3, expected 0 to 2");
    bad = good, bad.at = 999;
    FAILS(submit(simulation, bad), NANDRAM_TIME, "request 0: at: found 999ps, expected 1ns (now) or later");
    bad = good, bad.at = UINT64_MAX;
    FAILS(submit(simulation, bad), NANDRAM_TIME, "request 0: at: found 18446744.074s, expected at most 9200000s");
    bad = good, bad.address = 100;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT,
          "request 0: address: found 100, expected a multiple of 512 for a read to nvme-client-tlc");
    bad = good, bad.bytes = 0;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT,
          "request 0: bytes: found 0, expected a multiple of 512 above 0 for a read to nvme-client-tlc");
    bad = good, bad.op = NANDRAM_SIM_FLUSH;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT,
          "request 0: bytes: found 4096, expected 0 for a flush to nvme-client-tlc");
    bad = good, bad.device = 1, bad.bytes = 32;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT,
          "request 0: bytes: found 32, expected a multiple of 64 above 0 for a read to cxl");
    bad = good, bad.device = 1, bad.op = NANDRAM_SIM_TRIM;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT,
          "request 0: op: found trim, expected read, write, flush or rollback for cxl");
    bad = good, bad.device = 2, bad.address = UINT64_MAX - 63;
    HOLDS(submit(simulation, bad) == NANDRAM_OUT_OF_RANGE && strstr(nandram_message(), "expected an end at or below"));
    misuses++;
    bad = good, bad.device = 2, bad.bytes = 64 * 65537;
    FAILS(submit(simulation, bad), NANDRAM_ARGUMENT,
          "request 0: bytes: found 4194368, expected at most 65536 lines of 64 bytes at once for dram-ddr5 (outstanding)");
    for (int n = 0; n < 101; n++)
        many[n] = good;
    FAILS(nandram_sim_submit(simulation, many, 101, NULL), NANDRAM_BUSY,
          "nvme-client-tlc has 0 outstanding, expected at most 100 with these 101: advance first");
    many[57].bytes = 1;
    FAILS(nandram_sim_submit(simulation, many, 100, NULL), NANDRAM_ARGUMENT,
          "request 57: bytes: found 1, expected a multiple of 512 above 0 for a read to nvme-client-tlc");
}

static void wrong_calls(nandram_sim *simulation) {
    nandram_sim_completion one;
    nandram_sim *none;
    size_t count;
    uint64_t at;
    uint32_t room;
    FAILS(nandram_sim_advance(NULL, 2000, &one, 1, &count), NANDRAM_ARGUMENT, "simulation is NULL");
    FAILS(nandram_sim_advance(simulation, 2000, NULL, 1, &count), NANDRAM_ARGUMENT, "completions is NULL");
    FAILS(nandram_sim_advance(simulation, 2000, &one, 0, &count), NANDRAM_ARGUMENT, "capacity is 0");
    FAILS(nandram_sim_advance(simulation, 2000, &one, 1, NULL), NANDRAM_ARGUMENT, "count is NULL");
    FAILS(nandram_sim_advance(simulation, 999, &one, 1, &count), NANDRAM_TIME,
          "until: found 999ps, expected 1ns (now) or later");
    FAILS(nandram_sim_advance_to_completion(simulation, 999, &one, 1, &count), NANDRAM_TIME,
          "until: found 999ps, expected 1ns (now) or later");
    FAILS(nandram_sim_advance(simulation, UINT64_MAX, &one, 1, &count), NANDRAM_TIME,
          "until: found 18446744.074s, expected at most 9200000s");
    FAILS(nandram_sim_now(simulation, NULL), NANDRAM_ARGUMENT, "now is NULL");
    FAILS(nandram_sim_next_event(NULL, &at), NANDRAM_ARGUMENT, "simulation is NULL");
    FAILS(nandram_sim_room(simulation, 3, &room), NANDRAM_ARGUMENT, "device: found 3, expected 0 to 2");
    FAILS(nandram_sim_bytes(simulation, 0, NULL), NANDRAM_ARGUMENT, "bytes is NULL");
    FAILS(nandram_sim_energy(simulation, 0, NULL), NANDRAM_ARGUMENT, "joules is NULL");
    FAILS(nandram_sim_summary(simulation, 0, NULL, 0, NULL), NANDRAM_ARGUMENT, "length is NULL");
    FAILS(nandram_sim_save(simulation, NULL), NANDRAM_ARGUMENT, "path is NULL");
    FAILS(nandram_sim_restore(NULL, NULL, &none), NANDRAM_ARGUMENT, "path is NULL");
    FAILS(nandram_sim_restore(path, NULL, NULL), NANDRAM_ARGUMENT, "simulation is NULL");
    FAILS(nandram_sim_restore(path, NULL, &none), NANDRAM_IO, ": No such file or directory (os error 2)");
    FILE *other = fopen(path, "w");
    fputs("title = 'a drive'\n", other);
    fclose(other);
    FAILS(nandram_sim_restore(path, NULL, &none), NANDRAM_IO,
          ": found another kind of file, expected the saved state of a simulation");
}

/* Keeps 32 requests outstanding until `requests` have completed. Returns a sum over their times. */
static uint64_t closed_loop(nandram_sim *simulation, int requests, uint32_t *random) {
    nandram_sim_request next[32] = {0};
    nandram_sim_completion completions[5];
    uint64_t now, sum = 0;
    size_t count = 32;
    DONE(nandram_sim_now(simulation, &now));
    for (int ended = 0; ended < requests; ended += (int)count) {
        for (size_t n = 0; n < count; n++) {
            *random = *random * 1664525 + 1013904223;
            next[n] = (nandram_sim_request){.at = now, .address = (*random >> 8) % 1000000 * 4096, .bytes = 4096};
            next[n].op = *random >> 31 ? NANDRAM_SIM_WRITE : NANDRAM_SIM_READ;
        }
        DONE(nandram_sim_submit(simulation, next, count, NULL));
        DONE(nandram_sim_advance_to_completion(simulation, UINT64_MAX, completions, 5, &count));
        HOLDS(count > 0);
        for (size_t n = 0; n < count; n++) {
            HOLDS(completions[n].status == NANDRAM_SIM_OK && completions[n].completed > completions[n].submitted);
            now = completions[n].completed;
            sum = sum * 31 + now;
        }
    }
    return sum;
}

int main(int count, char **arguments) {
    nandram_sim *simulation, *restored;
    nandram_sim_completion completions[64];
    uint64_t first, at, bytes;
    uint32_t room, random = 1, again;
    size_t found, length;
    double joules;
    HOLDS(count == 2);
    snprintf(path, sizeof path, "%s/state", arguments[1]);

    wrong_devices();
    nandram_sim_device three[3] = {drive, {.system = "cxl-ssd", .name = "cxl"}, {.system = "dram-ddr5"}};
    DONE(nandram_sim_open(three, 3, 1, &simulation));
    DONE(nandram_sim_advance(simulation, 1000, completions, 64, &found));
    HOLDS(found == 0);
    wrong_requests(simulation);
    wrong_calls(simulation);
    HOLDS(misuses >= 30);
    DONE(nandram_sim_close(NULL));

    /* None of the refused requests was submitted. */
    DONE(nandram_sim_room(simulation, 0, &room));
    HOLDS(room == 100);
    DONE(nandram_sim_bytes(simulation, 1, &bytes));
    HOLDS(bytes > 0);

    /* A line of memory and a page of a drive, side by side. */
    nandram_sim_request two[2] = {{.at = 1000, .device = 2, .bytes = 64, .handle = 7},
                                  {.at = 1500, .device = 0, .bytes = 4096, .handle = 8}};
    DONE(nandram_sim_submit(simulation, two, 2, &first));
    HOLDS(first == 0);
    DONE(nandram_sim_next_event(simulation, &at));
    /* The first, of the present, is in the memory already; the second comes later. */
    HOLDS(at > 1000 && at <= 1500);
    DONE(nandram_sim_advance_to_completion(simulation, 1000000, completions, 64, &found));
    HOLDS(found == 1 && completions[0].id == 0 && completions[0].handle == 7 && completions[0].device == 2);
    DONE(nandram_sim_now(simulation, &at));
    HOLDS(at == completions[0].completed);
    DONE(nandram_sim_advance_to_completion(simulation, UINT64_MAX, completions, 64, &found));
    HOLDS(found == 1 && completions[0].handle == 8 && completions[0].submitted == 1500);
    DONE(nandram_sim_advance_to_completion(simulation, UINT64_MAX, completions, 64, &found));
    HOLDS(found == 0);

    closed_loop(simulation, 3000, &random);
    DONE(nandram_sim_energy(simulation, 0, &joules));
    HOLDS(joules > 0);
    DONE(nandram_sim_summary(simulation, 0, NULL, 0, &length));
    char *text = malloc(length + 1);
    DONE(nandram_sim_summary(simulation, 0, text, length + 1, &length));
    HOLDS(strlen(text) == length && strstr(text, "\"write_amplification\""));
    free(text);

    /* A restored simulation continues alike, requests in progress included. */
    DONE(nandram_sim_save(simulation, path));
    DONE(nandram_sim_restore(path, NULL, &restored));
    again = random;
    DONE(nandram_sim_now(simulation, &at));
    DONE(nandram_sim_advance(simulation, at + 2000000000, completions, 64, &found));
    DONE(nandram_sim_advance(restored, at + 2000000000, completions, 64, &found));
    HOLDS(closed_loop(simulation, 500, &random) == closed_loop(restored, 500, &again));
    DONE(nandram_sim_close(restored));
    DONE(nandram_sim_close(simulation));
    puts("all calls of a simulation work as documented");
    return 0;
}
