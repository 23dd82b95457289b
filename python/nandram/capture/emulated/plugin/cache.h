/* A set-associative cache: which lines it holds, in which order they were used. No time, no data. */
#ifndef NANDRAM_CACHE_H
#define NANDRAM_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* A way that holds nothing. No line has this number: lines are addresses divided by at least 4. */
#define EMPTY UINT64_MAX

struct cache {
    uint64_t set_mask;
    unsigned ways;
    /* A set begins every 2^set_shift entries. */
    unsigned set_shift;
    /* Of each set its ways, the most recently used one first: line * 2, and 1 more if it is dirty. */
    uint64_t *entries;
};

/* `bytes`, `line_bytes` and what they make of sets are powers of two. False if there is no memory for it. */
static inline bool cache_init(struct cache *cache, uint64_t bytes, unsigned ways, unsigned line_bytes) {
    uint64_t sets = bytes / line_bytes / ways;
    cache->set_mask = sets - 1;
    cache->ways = ways;
    cache->set_shift = 0;
    while (1u << cache->set_shift < ways)
        cache->set_shift++;
    uint64_t entries = sets << cache->set_shift;
    cache->entries = malloc(entries * sizeof *cache->entries);
    if (!cache->entries)
        return false;
    for (uint64_t i = 0; i < entries; i++)
        cache->entries[i] = EMPTY;
    return true;
}

static inline uint64_t *cache_set(const struct cache *cache, uint64_t line) {
    return cache->entries + ((line & cache->set_mask) << cache->set_shift);
}

/* As cache_use_in, for as many ways as `ways` says: the compiler unrolls what is constant. */
static inline __attribute__((always_inline)) bool cache_use_of(uint64_t *set, unsigned ways, uint64_t line, bool dirty,
                                                               uint64_t *victim) {
    uint64_t moved = line * 2 + dirty;
#pragma GCC unroll 8
    for (unsigned i = 0; i < ways; i++) {
        uint64_t entry = set[i];
        set[i] = moved;
        if (entry >> 1 == line) {
            set[0] |= entry;
            return true;
        }
        moved = entry;
    }
    *victim = moved;
    return false;
}

/* Makes a line of that set the most recently used one, dirty if it was or `dirty` says so. True if it was there; if not,
 * `victim` is what had to go for it: line * 2, and 1 more if it is dirty, or EMPTY. */
static inline bool cache_use_in(uint64_t *set, unsigned ways, uint64_t line, bool dirty, uint64_t *victim) {
    if (ways == 4)
        return cache_use_of(set, 4, line, dirty, victim);
    if (ways == 8)
        return cache_use_of(set, 8, line, dirty, victim);
    return cache_use_of(set, ways, line, dirty, victim);
}

/* The same of the set that the line belongs to. */
static inline bool cache_use(struct cache *cache, uint64_t line, bool dirty, uint64_t *victim) {
    return cache_use_in(cache_set(cache, line), cache->ways, line, dirty, victim);
}

#endif
