/* What a TCG plugin needs of QEMU, declared here: Debian's qemu-user comes without its header.
 *
 * Names, arguments and numbers are those of QEMU's documentation of its plugin interface (docs/devel/tcg-plugins,
 * "API"), version 1; what is used of it is the same up to QEMU 10. QEMU_API is the version that the QEMU at hand wants
 * to be told: 1 before QEMU 9, 2 from there on. */
#ifndef NANDRAM_QEMU_H
#define NANDRAM_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef QEMU_API
#define QEMU_API 1
#endif

#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;

/* The callback reads no registers of the guest; it is called on loads, stores or both. */
enum { CALLBACK_READS_NO_REGISTERS = 0 };
enum { ON_LOADS_AND_STORES = 3 };

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, unsigned vcpu));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void *), void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*call)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*call)(unsigned vcpu, void *), int flags,
                                          void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
                                      void (*call)(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address, void *),
                                      int flags, int on, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);

#endif
