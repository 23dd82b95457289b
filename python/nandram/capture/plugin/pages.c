/* nandram capture pages: an instruction cache, and the page of each line it misses.
 *
 * The cache is shown the lines that each block of translated code lies in as the block begins. Where QEMU ends a block
 * does not matter: a line that two blocks share is used twice in a row, and hit the second time. A block that a fault
 * leaves early is counted whole. */
#include "cache.h"
#include "qemu.h"
#include "stream.h"

EXPORTED int qemu_plugin_version = QEMU_API;

/* What is executed in one go: its lines, up to before `end`, and its instructions. */
struct block {
    uint64_t line, end, instructions;
};

static struct cache icache;
/* Of each set of it the line that was used last. */
static uint64_t *used_last;
static uint64_t set_mask;
static unsigned line_shift, page_shift;
static uint64_t last_page, records_max;
static const struct block *last_block;

static __attribute__((noinline)) void look_up(uint64_t line) {
    used_last[line & set_mask] = line;
    uint64_t victim;
    if (cache_use(&icache, line, false, &victim))
        return;
    uint64_t page = line << line_shift >> page_shift;
    struct stream *to = stream;
    uint64_t difference = zigzag((int64_t)(page - last_page)) + 1;
    last_page = page;
    stream_recorded(to, put_number(stream_record(to), difference), records_max);
}

static void run(unsigned vcpu, void *data) {
    (void)vcpu;
    const struct block *block = data;
    stream->instructions += block->instructions;
    /* A loop of one block: each of its lines is the last one used of its set, unless two share a set. */
    if (block == last_block)
        return;
    last_block = block;
    uint64_t line = block->line, end = block->end;
    while (line < end) {
        if (used_last[line & set_mask] != line)
            look_up(line);
        line++;
    }
    if (__builtin_expect(end - block->line > set_mask + 1, 0))
        last_block = NULL;
}

/* Blocks are translated again and again; each is kept once. */
static struct block **table;
static size_t table_size, table_used;

static size_t slot_of(const struct block *block) {
    uint64_t hash = (block->line * 1024 + (block->end - block->line) * 31 + block->instructions) * 0x9e3779b97f4a7c15u;
    size_t slot = hash >> 32 & (table_size - 1);
    while (table[slot] && (table[slot]->line != block->line || table[slot]->end != block->end ||
                           table[slot]->instructions != block->instructions))
        slot = (slot + 1) & (table_size - 1);
    return slot;
}

static void *checked(void *memory) {
    if (!memory)
        stream_stop(NO_MEMORY);
    return memory;
}

static struct block *kept(struct block block) {
    if (2 * table_used >= table_size) {
        struct block **old = table;
        size_t size = table_size;
        table_size = size ? 2 * size : 1 << 12;
        table = checked(calloc(table_size, sizeof *table));
        for (size_t i = 0; i < size; i++)
            if (old[i])
                table[slot_of(old[i])] = old[i];
        free(old);
    }
    size_t slot = slot_of(&block);
    if (!table[slot]) {
        table[slot] = checked(malloc(sizeof block));
        *table[slot] = block;
        table_used++;
    }
    return table[slot];
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(tb);
    if (count == 0)
        return;
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, count - 1);
    /* Code of the kernel's that QEMU stands in for, as ARM's helpers at 0xffff0fc0: there is nothing of the program's. */
    if (qemu_plugin_insn_size(last) == 0)
        return;
    uint64_t line = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) >> line_shift;
    uint64_t end = (qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last) - 1) >> line_shift;
    struct block block = {line, end + 1, count};
    qemu_plugin_register_vcpu_tb_exec_cb(tb, run, CALLBACK_READS_NO_REGISTERS, kept(block));
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
    set_mask = icache.set_mask;
    used_last = malloc((set_mask + 1) * sizeof *used_last);
    if (!used_last)
        return -1;
    for (uint64_t set = 0; set <= set_mask; set++)
        used_last[set] = EMPTY;
    if (!stream_open((int)argument(argc, argv, "data", 0), (int)argument(argc, argv, "shared", 0)))
        return -1;
    qemu_plugin_register_vcpu_init_cb(id, started);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
