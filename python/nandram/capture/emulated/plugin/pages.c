/* nandram capture pages: an instruction cache, and the page of each line it misses.
 *
 * The cache is shown the lines that each block of translated code lies in as the block begins. Where QEMU ends a block
 * does not matter: a line that two blocks share is used twice in a row, and hit the second time. A block that a fault
 * leaves early is counted whole. */
#include "cache.h"
#include "qemu.h"
#include "stream.h"

EXPORTED int qemu_plugin_version = QEMU_API;

/* A line of code: its set in the cache, and the entry that stands for it there. */
struct line {
    uint64_t *set;
    uint64_t entry;
};

/* What is executed in one go: its instructions, and the lines that it lies in. */
struct block {
    uint64_t first, count, instructions;
    struct line lines[];
};

static struct cache icache;
static unsigned line_shift, page_shift;
static uint64_t last_page, records_max;

static __attribute__((noinline)) void missed(uint64_t line) {
    uint64_t page = line << line_shift >> page_shift;
    struct stream *to = stream;
    uint64_t difference = zigzag((int64_t)(page - last_page)) + 1;
    last_page = page;
    stream_recorded(to, put_number(stream_record(to), difference), records_max);
}

static __attribute__((noinline)) void look_up(uint64_t *set, uint64_t line) {
    uint64_t victim;
    if (!cache_use_in(set, icache.ways, line, false, &victim))
        missed(line);
}

static inline __attribute__((always_inline)) void use(const struct line *line) {
    if (*line->set != line->entry)
        look_up(line->set, line->entry >> 1);
}

static inline __attribute__((always_inline)) void run_of(const struct block *block, uint64_t lines) {
    stream->instructions += block->instructions;
#pragma GCC unroll 3
    for (uint64_t i = 0; i < lines; i++)
        use(&block->lines[i]);
}

/* Most blocks have few lines, and loops of few turns are what a processor predicts worst. */
static void run_1(unsigned vcpu, void *block) {
    (void)vcpu;
    run_of(block, 1);
}

static void run_2(unsigned vcpu, void *block) {
    (void)vcpu;
    run_of(block, 2);
}

static void run_3(unsigned vcpu, void *block) {
    (void)vcpu;
    run_of(block, 3);
}

static void run(unsigned vcpu, void *block) {
    (void)vcpu;
    run_of(block, ((const struct block *)block)->count);
}

/* Blocks are translated again and again; each is kept once. */
static struct block **table;
static size_t table_size, table_used;

/* Where the block is, or would be. */
static size_t slot_of(uint64_t first, uint64_t count, uint64_t instructions) {
    uint64_t hash = (first * 1024 + count * 31 + instructions) * 0x9e3779b97f4a7c15u;
    size_t slot = hash >> 32 & (table_size - 1);
    while (table[slot] && (table[slot]->first != first || table[slot]->count != count ||
                           table[slot]->instructions != instructions))
        slot = (slot + 1) & (table_size - 1);
    return slot;
}

static void *checked(void *memory) {
    if (!memory)
        stream_stop(NO_MEMORY);
    return memory;
}

static struct block *kept(uint64_t first, uint64_t count, uint64_t instructions) {
    if (2 * table_used >= table_size) {
        struct block **old = table;
        size_t size = table_size;
        table_size = size ? 2 * size : 1 << 12;
        table = checked(calloc(table_size, sizeof *table));
        for (size_t i = 0; i < size; i++)
            if (old[i])
                table[slot_of(old[i]->first, old[i]->count, old[i]->instructions)] = old[i];
        free(old);
    }
    struct block **slot = &table[slot_of(first, count, instructions)];
    if (!*slot) {
        *slot = checked(malloc(sizeof **slot + count * sizeof *(*slot)->lines));
        **slot = (struct block){first, count, instructions};
        for (uint64_t i = 0; i < count; i++)
            (*slot)->lines[i] = (struct line){cache_set(&icache, first + i), (first + i) * 2};
        table_used++;
    }
    return *slot;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    size_t instructions = qemu_plugin_tb_n_insns(tb);
    if (instructions == 0)
        return;
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, instructions - 1);
    /* Code of the kernel's that QEMU stands in for, as ARM's helpers at 0xffff0fc0: there is nothing of the program's. */
    if (qemu_plugin_insn_size(last) == 0)
        return;
    uint64_t first_line = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) >> line_shift;
    uint64_t last_line = (qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last) - 1) >> line_shift;
    uint64_t count = last_line - first_line + 1;
    void (*call)(unsigned, void *) = count == 1 ? run_1 : count == 2 ? run_2 : count == 3 ? run_3 : run;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, call, CALLBACK_READS_NO_REGISTERS, kept(first_line, count, instructions));
}

static void started(qemu_plugin_id_t id, unsigned vcpu) {
    (void)id;
    stream_thread(vcpu);
}

static void ended(qemu_plugin_id_t id, void *data) {
    (void)id, (void)data;
    stream->state = ENDED;
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv) {
    (void)info;
    uint64_t line_bytes = argument(argc, argv, "line", 16);
    line_shift = (unsigned)__builtin_ctzll(line_bytes);
    page_shift = (unsigned)__builtin_ctzll(argument(argc, argv, "page", 1024));
    records_max = argument(argc, argv, "records", UINT64_MAX);
    if (!cache_init(&icache, argument(argc, argv, "icache", 4096), (unsigned)argument(argc, argv, "ways", 4),
                    (unsigned)line_bytes))
        return -1;
    if (!stream_open((int)argument(argc, argv, "data", 0), (int)argument(argc, argv, "shared", 0)))
        return -1;
    qemu_plugin_register_vcpu_init_cb(id, started);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
