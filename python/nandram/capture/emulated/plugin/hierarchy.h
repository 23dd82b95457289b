/* Up to three caches in a row in front of memory: write-back, write-allocate, none includes another by rule.
 *
 * A line that a level does not have comes through all the levels behind it, and stays in each. A dirty line that makes
 * room goes to the next level, whole, and so is not fetched there. A fill goes before the write-back that it causes. */
#ifndef NANDRAM_HIERARCHY_H
#define NANDRAM_HIERARCHY_H

#include "cache.h"

#define LEVELS_MAX 3

struct hierarchy {
    unsigned levels;
    struct cache level[LEVELS_MAX];
    /* What reaches memory: a line that is read, or written back. */
    void (*memory)(uint64_t line, bool written);
};

static inline bool is_dirty(uint64_t victim) {
    return victim != EMPTY && victim & 1;
}

static inline void hierarchy_write_back(struct hierarchy *caches, unsigned level, uint64_t line) {
    for (; level < caches->levels; level++) {
        uint64_t victim;
        if (cache_use(&caches->level[level], line, true, &victim) || !is_dirty(victim))
            return;
        line = victim >> 1;
    }
    caches->memory(line, true);
}

static inline void hierarchy_use(struct hierarchy *caches, unsigned level, uint64_t line, bool store) {
    if (level == caches->levels) {
        caches->memory(line, false);
        return;
    }
    uint64_t victim;
    if (cache_use(&caches->level[level], line, store, &victim))
        return;
    hierarchy_use(caches, level + 1, line, false);
    if (is_dirty(victim))
        hierarchy_write_back(caches, level + 1, victim >> 1);
}

#endif
