/* The plugins' caches as a shared library, so that tests can give them accesses one by one. */
#include "hierarchy.h"

static struct hierarchy caches;
static uint64_t reached[64];
static unsigned reached_count;

static void memory(uint64_t line, bool written) {
    reached[reached_count++] = line * 2 + written;
}

void harness_init(unsigned levels, const uint64_t *bytes, const unsigned *ways, unsigned line_bytes) {
    caches.levels = levels;
    caches.memory = memory;
    for (unsigned level = 0; level < levels; level++)
        if (!cache_init(&caches.level[level], bytes[level], ways[level], line_bytes))
            abort();
}

/* Uses a line; returns what that makes memory do: line * 2, and 1 more if it is written. */
unsigned harness_use(uint64_t line, bool store, uint64_t *events) {
    reached_count = 0;
    hierarchy_use(&caches, 0, line, store);
    for (unsigned i = 0; i < reached_count; i++)
        events[i] = reached[i];
    return reached_count;
}
