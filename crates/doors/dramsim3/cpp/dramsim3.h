// Main memory of nandram behind the C++ interface of DRAMsim3. Compile a simulator against this header and link it with
// `libdramsim3.so`; docs/backend.md has the differences.
#ifndef NANDRAM_DRAMSIM3_H
#define NANDRAM_DRAMSIM3_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dramsim3 {

class MemorySystem {
  public:
    // `config_file` is a system file or the name of a preset with main memory. A file that cannot be used, and an address
    // beyond the memory, print one line and end the process with status 2.
    MemorySystem(const std::string &config_file, const std::string &output_dir,
                 std::function<void(uint64_t)> read_callback, std::function<void(uint64_t)> write_callback);
    ~MemorySystem();
    MemorySystem(const MemorySystem &) = delete;
    MemorySystem &operator=(const MemorySystem &) = delete;

    // Advances one clock of GetTCK() nanoseconds, and calls back with the address of each transaction that has completed.
    void ClockTick();
    void RegisterCallbacks(std::function<void(uint64_t)> read_callback, std::function<void(uint64_t)> write_callback);
    double GetTCK() const;
    // Their product is a transaction: 64 bytes.
    int GetBusBits() const;
    int GetBurstLength() const;
    // The maximum number of outstanding transactions.
    int GetQueueSize() const;
    // Writes counts and latencies since the last ResetStats to nandram.json in `output_dir`.
    void PrintStats() const;
    void ResetStats();
    bool WillAcceptTransaction(uint64_t hex_addr, bool is_write) const;
    // Adds a transaction in the present cycle; false if there is no room.
    bool AddTransaction(uint64_t hex_addr, bool is_write);

  private:
    void Advance();

    void *handle_;
    uint64_t cycle_ = 0;
    // Nothing happens before this cycle.
    uint64_t due_ = UINT64_MAX;
    std::function<void(uint64_t)> read_callback_;
    std::function<void(uint64_t)> write_callback_;
    // Address, and 1 for a write.
    std::vector<std::pair<uint64_t, uint64_t>> done_;
};

MemorySystem *GetMemorySystem(const std::string &config_file, const std::string &output_dir,
                              std::function<void(uint64_t)> read_callback,
                              std::function<void(uint64_t)> write_callback);

}  // namespace dramsim3

#endif
