/* Makes every call of nandram.h, and every misuse possible in C. The argument is a directory for its files. */
#include "nandram.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[4096], copy[4096], area[4096];

#define DONE(call) done(__LINE__, (call))
#define FAILS(call, code, words) fails(__LINE__, (call), (code), (words))
#define HOLDS(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "calls.c:%d: %s does not hold\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

static void done(int line, int code) {
    if (code != NANDRAM_OK) {
        fprintf(stderr, "calls.c:%d: %d: %s\n", line, code, nandram_message());
        exit(1);
    }
}

/* Checks that the message equals `words`, after the path if `words` begins with ": ". */
static void fails(int line, int found, int code, const char *words) {
    const char *message = nandram_message();
    if (words[0] == ':' && strncmp(message, path, strlen(path)) == 0)
        message += strlen(path);
    if (found != code || strcmp(message, words) != 0) {
        fprintf(stderr, "calls.c:%d: found %d: %s\nexpected %d: %s\n", line, found, message, code, words);
        exit(1);
    }
}

static void list(void *user, uint64_t token, const char *name) {
    char *into = user;
    sprintf(into + strlen(into), "%llu=%s ", (unsigned long long)token, name ? name : "-");
}

static void count(void *user, int code, const char *message) {
    HOLDS(code == NANDRAM_UNREADABLE && strstr(message, "its checksum does not match"));
    ++*(int *)user;
}

static void read_back(nandram_memory *memory, uint64_t at, const char *expected) {
    char found[64] = {0};
    DONE(nandram_read(memory, at, found, strlen(expected)));
    HOLDS(strcmp(found, expected) == 0);
}

static void misuse(nandram_memory *memory, uint64_t at, uint64_t token) {
    char byte;
    char *bad = "\xff";
    nandram_options tiny = {.dram = 1};
    nandram_memory *other;
    FAILS(nandram_open(path, NULL, &other), NANDRAM_LOCKED,
          ": the memory is already open for writing, and only one writer is allowed");
    FAILS(nandram_create(path, NULL, &other), NANDRAM_OPTION, ": a new memory needs a capacity");
    FAILS(nandram_open(path, &tiny, &other), NANDRAM_OPTION, "dram is 1 bytes, expected at least 1048576");
    FAILS(nandram_open(NULL, NULL, &other), NANDRAM_ARGUMENT, "path is NULL");
    FAILS(nandram_open(path, NULL, NULL), NANDRAM_ARGUMENT, "memory is NULL");
    FAILS(nandram_read(NULL, at, &byte, 1), NANDRAM_ARGUMENT, "memory is NULL");
    FAILS(nandram_read(memory, at, NULL, 1), NANDRAM_ARGUMENT, "into is NULL");
    FAILS(nandram_write(memory, at, NULL, 1), NANDRAM_ARGUMENT, "from is NULL");
    DONE(nandram_write(memory, at, NULL, 0));
    FAILS(nandram_read(memory, 0, &byte, 1), NANDRAM_OUT_OF_RANGE,
          "address 0x0: an access of 1 bytes exceeds the capacity of 4194304 bytes");
    FAILS(nandram_read(memory, at + (1 << 20), &byte, 1), NANDRAM_NOT_ALLOCATED,
          "address 0x110000: its page is not allocated");
    FAILS(nandram_alloc(memory, 1 << 23, 0, NULL), NANDRAM_NO_PAGES,
          "cannot allocate 8388608 bytes: no 128 contiguous pages are free");
    FAILS(nandram_sync(memory, "first", NULL), NANDRAM_NAME, "name \"first\": token 2 already has this name");
    FAILS(nandram_sync(memory, bad, NULL), NANDRAM_ARGUMENT, "name is not UTF-8");
    FAILS(nandram_rollback(memory, 77), NANDRAM_UNKNOWN_TOKEN, "token 77 is not live; the newest live token is 2");
    FAILS(nandram_drop(memory, 77), NANDRAM_UNKNOWN_TOKEN, "token 77 is not live; the newest live token is 2");
    FAILS(nandram_token(memory, "none", NULL), NANDRAM_NAME, "name \"none\": no live token has this name");
    FAILS(nandram_name(memory, "field", at, 1), NANDRAM_NAME,
          "name \"field\": the area at 0x10000 already has this name");
    FAILS(nandram_find(memory, "none", NULL, NULL), NANDRAM_NAME, "name \"none\": no area has this name");
    FAILS(nandram_set_permissions(memory, at, 1, 8), NANDRAM_ARGUMENT, "permissions are 0x8, expected bits of 0x7");
    DONE(nandram_set_permissions(memory, at, 1, NANDRAM_MAY_READ | NANDRAM_PERMANENT));
    FAILS(nandram_write(memory, at, "x", 1), NANDRAM_NOT_PERMITTED, "address 0x10000: its page may not be written");
    DONE(nandram_set_permissions(memory, at, 1, NANDRAM_MAY_READ | NANDRAM_MAY_WRITE | NANDRAM_PERMANENT));
    HOLDS(token == 2);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(nandram_read(memory, at, &byte, 1));
    int status;
    HOLDS(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == NANDRAM_FORKED);
}

static void concurrent_reader(nandram_memory *memory, uint64_t at, uint64_t token) {
    nandram_reader *reader;
    nandram_memory *copied;
    uint64_t where, bytes;
    char found[32] = {0}, tokens[64] = {0};
    FAILS(nandram_reader_open(path, 1, &reader), NANDRAM_OPTION, "dram is 1 bytes, expected at least 1048576");
    FAILS(nandram_reader_open(path, 0, NULL), NANDRAM_ARGUMENT, "reader is NULL");
    DONE(nandram_reader_open(path, 1 << 20, &reader));
    DONE(nandram_reader_find(reader, "field", &where, &bytes));
    HOLDS(where == at && bytes == 100000);
    DONE(nandram_write(memory, at, "later", 5));
    DONE(nandram_sync(memory, "later", NULL));
    DONE(nandram_reader_read(reader, at, found, 5));
    HOLDS(strcmp(found, "first") == 0);
    DONE(nandram_reader_refresh(reader));
    DONE(nandram_reader_tokens(reader, list, tokens));
    HOLDS(strcmp(tokens, "2=first 3=later ") == 0);
    DONE(nandram_reader_read(reader, at, found, 5));
    HOLDS(strcmp(found, "later") == 0);
    DONE(nandram_reader_go_to(reader, token));
    DONE(nandram_reader_read(reader, at, found, 5));
    HOLDS(strcmp(found, "first") == 0);
    DONE(nandram_reader_verify(reader, NULL, NULL));
    DONE(nandram_reader_export(reader, "field", area));
    HOLDS(nandram_reader_export(reader, NULL, area) == NANDRAM_IO);
    DONE(nandram_reader_close(reader));
    DONE(nandram_reader_close(NULL));
    FILE *file = fopen(area, "rb");
    HOLDS(file && fread(found, 1, 5, file) == 5 && strcmp(found, "first") == 0 && fclose(file) == 0);
    DONE(nandram_backup(path, copy, count, NULL));
    DONE(nandram_open(copy, NULL, &copied));
    read_back(copied, at, "later");
    DONE(nandram_close(copied));
}

/* A memory grows while it is closed, and keeps its data and tokens. */
static void growth(uint64_t at) {
    nandram_memory *memory;
    uint64_t more;
    char message[4200], tokens[64] = {0};
    DONE(nandram_open(path, NULL, &memory));
    HOLDS(nandram_grow(path, 0, 0) == NANDRAM_LOCKED);
    DONE(nandram_close(memory));
    snprintf(message, sizeof message, "%s: capacity is 4096 bytes, expected at least the present one, 4194304", path);
    FAILS(nandram_grow(path, 4096, 0), NANDRAM_OPTION, message);
    FAILS(nandram_grow(NULL, 0, 0), NANDRAM_ARGUMENT, "path is NULL");
    DONE(nandram_grow(path, 8 << 20, 0));
    DONE(nandram_open(path, NULL, &memory));
    HOLDS(nandram_capacity(memory) == 8 << 20);
    DONE(nandram_tokens(memory, list, tokens));
    HOLDS(strcmp(tokens, "4=- ") == 0);
    read_back(memory, at, "later");
    DONE(nandram_alloc(memory, 6 << 20, 0, &more));
    DONE(nandram_close(memory));
}

/* A flipped bit of data is reported, and all other data stays readable. */
static void damage(uint64_t at) {
    static char bytes[1 << 16];
    FILE *file = fopen(path, "r+b");
    HOLDS(file);
    long place = -1;
    for (long offset = 0; place < 0 && fread(bytes, 1, sizeof bytes, file) == sizeof bytes; offset += sizeof bytes)
        for (size_t n = 0; n + 16 < sizeof bytes; ++n)
            if (memcmp(bytes + n, "to be damaged...", 16) == 0)
                place = offset + (long)n;
    HOLDS(place > 0 && fseek(file, place, SEEK_SET) == 0 && fputc('T', file) == 'T' && fclose(file) == 0);
    nandram_memory *memory;
    int lost = 0;
    char byte;
    DONE(nandram_open(path, NULL, &memory));
    HOLDS(nandram_verify(memory, count, &lost) == NANDRAM_UNREADABLE && lost == 1);
    HOLDS(nandram_read(memory, at + 70000, &byte, 1) == NANDRAM_UNREADABLE);
    read_back(memory, at, "later");
    DONE(nandram_close(memory));
}

int main(int argc, char **argv) {
    HOLDS(argc == 2);
    snprintf(path, sizeof path, "%s/c.memory", argv[1]);
    snprintf(copy, sizeof copy, "%s/c.copy", argv[1]);
    snprintf(area, sizeof area, "%s/c.area", argv[1]);
    nandram_options options = {.capacity = 4 << 20, .dram = 1 << 20, .tokens = 8};
    nandram_memory *memory;
    nandram_stats stats;
    uint64_t at, bytes, token = 0;
    char tokens[64] = {0};
    DONE(nandram_create(path, &options, &memory));
    HOLDS(nandram_capacity(memory) == 4 << 20);
    DONE(nandram_alloc(memory, 100000, 0, &at));
    HOLDS(at == NANDRAM_PAGE);
    DONE(nandram_name(memory, "field", at, 100000));
    DONE(nandram_write(memory, at, "first", 5));
    DONE(nandram_write(memory, at + 70000, "to be damaged...", 16));
    DONE(nandram_sync(memory, "first", &token));
    DONE(nandram_token(memory, "first", &bytes));
    HOLDS(bytes == token);
    misuse(memory, at, token);
    concurrent_reader(memory, at, token);
    DONE(nandram_tokens(memory, list, tokens));
    HOLDS(strcmp(tokens, "2=first 3=later ") == 0);
    DONE(nandram_tokens(memory, NULL, NULL));
    DONE(nandram_rollback(memory, token));
    read_back(memory, at, "first");
    DONE(nandram_write(memory, at, "later", 5));
    DONE(nandram_sync(memory, NULL, NULL));
    DONE(nandram_drop(memory, token));
    DONE(nandram_alloc(memory, 1, 1, &bytes));
    DONE(nandram_delete(memory, bytes, 1));
    DONE(nandram_compact(memory));
    DONE(nandram_get_stats(memory, &stats));
    HOLDS(stats.written_bytes > stats.data_bytes && stats.data_bytes >= 4096 * 4 && stats.flushes > 0);
    HOLDS(stats.hits > 0 && stats.misses > 0 && stats.dram_bytes == 1 << 20 && stats.needed_bytes < stats.space_bytes);
    DONE(nandram_verify(memory, NULL, NULL));
    DONE(nandram_close(memory));
    DONE(nandram_close(NULL));
    DONE(nandram_open(path, NULL, &memory));
    DONE(nandram_find(memory, "field", &at, &bytes));
    HOLDS(bytes == 100000);
    read_back(memory, at, "later");
    DONE(nandram_close(memory));
    growth(at);
    damage(at);
    puts("all calls work as documented");
    return 0;
}
