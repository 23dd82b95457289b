/* nandram capture memory: loads and stores through up to three caches, and what of them reaches memory.
 *
 * Caches are those of virtual addresses. Each line that is filled or written back is one record: two numbers, first
 * ((zigzag of the line less the line before it) * 2, and 1 more if it is written) + 1, then the instructions since the
 * record before. Loads and stores of the kernel, as in read(2), are not seen; nor are fetches of instructions. */
#include "hierarchy.h"
#include "qemu.h"
#include "stream.h"

EXPORTED int qemu_plugin_version = QEMU_API;

static struct hierarchy caches;
static unsigned line_shift;
static uint64_t last_line, last_position, records_max;
/* Instructions before the block that runs, and before the last access. */
static uint64_t block_start, position;

static __attribute__((noinline)) void reaches_memory(uint64_t line, bool written) {
    struct stream *to = stream;
    uint64_t difference = zigzag((int64_t)(line - last_line));
    uint8_t *end = put_number(stream_record(to), (difference << 1 | written) + 1);
    end = put_number(end, position - last_position);
    last_line = line;
    last_position = position;
    stream_recorded(to, end, records_max);
}

static void run(unsigned vcpu, void *instructions) {
    (void)vcpu;
    block_start = stream->instructions;
    stream->instructions += (uintptr_t)instructions;
}

static __attribute__((noinline)) void look_up(uint64_t line, bool store, uint64_t index) {
    position = block_start + index;
    hierarchy_use(&caches, 0, line, store);
}

static void accessed(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *index) {
    (void)vcpu;
    bool store = qemu_plugin_mem_is_store(info);
    uint64_t line = address >> line_shift;
    uint64_t end = (address + (UINT64_C(1) << qemu_plugin_mem_size_shift(info)) - 1) >> line_shift;
    do {
        uint64_t *used_last = cache_set(&caches.level[0], line);
        if (*used_last >> 1 == line)
            *used_last |= store;
        else
            look_up(line, store, (uintptr_t)index);
    } while (line++ != end);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    uintptr_t count = qemu_plugin_tb_n_insns(tb);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, run, CALLBACK_READS_NO_REGISTERS, (void *)count);
    for (uintptr_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), accessed, CALLBACK_READS_NO_REGISTERS,
                                         ON_LOADS_AND_STORES, (void *)i);
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
    unsigned line_bytes = (unsigned)argument(argc, argv, "line", 64);
    line_shift = (unsigned)__builtin_ctz(line_bytes);
    records_max = argument(argc, argv, "records", UINT64_MAX);
    caches.memory = reaches_memory;
    static const char *const sizes[LEVELS_MAX] = {"bytes1", "bytes2", "bytes3"};
    static const char *const ways[LEVELS_MAX] = {"ways1", "ways2", "ways3"};
    for (unsigned level = 0; level < LEVELS_MAX; level++) {
        uint64_t bytes = argument(argc, argv, sizes[level], 0);
        if (bytes == 0)
            break;
        if (!cache_init(&caches.level[level], bytes, (unsigned)argument(argc, argv, ways[level], 8), line_bytes))
            return -1;
        caches.levels++;
    }
    if (caches.levels == 0 || !stream_open((int)argument(argc, argv, "data", 0), (int)argument(argc, argv, "shared", 0)))
        return -1;
    qemu_plugin_register_vcpu_init_cb(id, started);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
