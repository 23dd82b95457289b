// Latency and bandwidth of one channel behind DRAMsim3's interface: compiled once against DRAMsim3 and once against ours.
//
// rows CONFIG FOLDER; prints for each row the pattern, the transactions under way, the mean latency of a read in nanoseconds and the
// bandwidth in GB/s.
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <string>
#include <unordered_map>

#include "dramsim3.h"

constexpr uint64_t kLines = uint64_t{1} << 27;  // 8 GiB
constexpr uint64_t kWarmUp = 20000, kCount = 120000;

struct Pattern {
    const char *name;
    bool is_random;
    uint64_t writes;  // of 8 transactions
};

class Row {
   public:
    Row(const char *config, const char *folder, Pattern pattern, uint64_t outstanding)
        : pattern_(pattern), outstanding_(outstanding) {
        memory_ = dramsim3::GetMemorySystem(
            config, folder, [this](uint64_t address) { ReadDone(address); }, [this](uint64_t) { ended_++; });
    }
    ~Row() { delete memory_; }

    void Run() {
        uint64_t address = 0, begun = 0;
        bool is_write = false;
        Draw(&address, &is_write);
        while (ended_ < kWarmUp + kCount) {
            while (issued_ - ended_ < outstanding_ && memory_->WillAcceptTransaction(address, is_write)) {
                if (!is_write) under_way_[address].push_back(now_);
                issued_++;
                memory_->AddTransaction(address, is_write);
                Draw(&address, &is_write);
            }
            now_++;
            memory_->ClockTick();
            if (ended_ >= kWarmUp && begun == 0) begun = now_, first_ = ended_, reads_ = 0, latency_ = 0;
        }
        const double ns = memory_->GetTCK();
        printf("%s %" PRIu64 " %.2f %.3f\n", pattern_.name, outstanding_, ns * latency_ / reads_,
               64.0 * (ended_ - first_) / (ns * (now_ - begun)));
    }

   private:
    void Draw(uint64_t *address, bool *is_write) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        *address = 64 * ((pattern_.is_random ? state_ >> 24 : drawn_) % kLines);
        *is_write = (state_ >> 16) % 8 < pattern_.writes;
        drawn_++;
    }
    void ReadDone(uint64_t address) {
        auto &waiting = under_way_[address];
        latency_ += now_ - waiting.front();
        waiting.pop_front();
        if (waiting.empty()) under_way_.erase(address);
        reads_++;
        ended_++;
    }

    const Pattern pattern_;
    const uint64_t outstanding_;
    dramsim3::MemorySystem *memory_;
    uint64_t state_ = 1, drawn_ = 0, now_ = 0, issued_ = 0, ended_ = 0, first_ = 0, reads_ = 0, latency_ = 0;
    std::unordered_map<uint64_t, std::deque<uint64_t>> under_way_;
};

int main(int argc, char **argv) {
    if (argc != 3) return 1;
    const Pattern patterns[] = {{"random", true, 0}, {"sequential", false, 0}, {"mixed", true, 4}};
    for (const Pattern &pattern : patterns)
        for (uint64_t outstanding : {1, 16, 64}) Row(argv[1], argv[2], pattern, outstanding).Run();
    return 0;
}
