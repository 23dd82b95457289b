#include "dramsim3.h"

#include <utility>

struct Done {
    uint64_t address;
    uint64_t is_write;
};

extern "C" {
void *nandram_ds3_open(const char *config, const char *output);
void nandram_ds3_close(void *handle);
double nandram_ds3_period(const void *handle);
uint32_t nandram_ds3_queue(const void *handle);
uint32_t nandram_ds3_room(const void *handle);
uint64_t nandram_ds3_add(void *handle, uint64_t cycle, uint64_t address, uint32_t is_write);
const Done *nandram_ds3_tick(void *handle, uint64_t cycle, uint64_t *count, uint64_t *due);
void nandram_ds3_print(void *handle, uint64_t cycle);
void nandram_ds3_reset(void *handle, uint64_t cycle);
}

namespace dramsim3 {

MemorySystem::MemorySystem(const std::string &config_file, const std::string &output_dir,
                           std::function<void(uint64_t)> read_callback, std::function<void(uint64_t)> write_callback)
    : handle_(nandram_ds3_open(config_file.c_str(), output_dir.c_str())),
      read_callback_(std::move(read_callback)),
      write_callback_(std::move(write_callback)) {}

MemorySystem::~MemorySystem() { nandram_ds3_close(handle_); }

void MemorySystem::ClockTick() {
    if (++cycle_ >= due_) Advance();
}

// Callbacks may add transactions, so the completions are copied before the first callback.
void MemorySystem::Advance() {
    uint64_t count = 0;
    const Done *done = nandram_ds3_tick(handle_, cycle_, &count, &due_);
    done_.clear();
    for (uint64_t i = 0; i < count; i++) done_.emplace_back(done[i].address, done[i].is_write);
    for (const auto &[address, is_write] : done_) {
        const auto &callback = is_write ? write_callback_ : read_callback_;
        if (callback) callback(address);
    }
}

void MemorySystem::RegisterCallbacks(std::function<void(uint64_t)> read_callback,
                                     std::function<void(uint64_t)> write_callback) {
    read_callback_ = std::move(read_callback);
    write_callback_ = std::move(write_callback);
}

double MemorySystem::GetTCK() const { return nandram_ds3_period(handle_); }

int MemorySystem::GetBusBits() const { return 64; }

int MemorySystem::GetBurstLength() const { return 8; }

int MemorySystem::GetQueueSize() const { return static_cast<int>(nandram_ds3_queue(handle_)); }

void MemorySystem::PrintStats() const { nandram_ds3_print(handle_, cycle_); }

void MemorySystem::ResetStats() { nandram_ds3_reset(handle_, cycle_); }

bool MemorySystem::WillAcceptTransaction(uint64_t, bool) const { return nandram_ds3_room(handle_) != 0; }

bool MemorySystem::AddTransaction(uint64_t hex_addr, bool is_write) {
    if (!WillAcceptTransaction(hex_addr, is_write)) return false;
    due_ = nandram_ds3_add(handle_, cycle_, hex_addr, is_write);
    return true;
}

MemorySystem *GetMemorySystem(const std::string &config_file, const std::string &output_dir,
                              std::function<void(uint64_t)> read_callback,
                              std::function<void(uint64_t)> write_callback) {
    return new MemorySystem(config_file, output_dir, std::move(read_callback), std::move(write_callback));
}

}  // namespace dramsim3
