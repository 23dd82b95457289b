// A host written against the interface alone: dependent reads, one every so many cycles, and as many as fit.
//
// host SYSTEM FOLDER MODE COUNT [CYCLES LINES OUTSTANDING]; prints, for `paced` and `chain`, address, cycle and latency of each
// transaction in cycles; for `saturate` all cycles, refused transactions and the period; for `idle` nothing.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

#include "dramsim3.h"

static uint64_t state = 1;

static uint64_t random_line(uint64_t lines) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 20) % lines * 64;
}

int main(int argc, char **argv) {
    if (argc < 5) return 1;
    const char *mode = argv[3];
    const uint64_t count = strtoull(argv[4], nullptr, 10);
    const uint64_t cycles = argc > 5 ? strtoull(argv[5], nullptr, 10) : 0;
    const uint64_t lines = argc > 6 ? strtoull(argv[6], nullptr, 10) : 1u << 20;
    const uint64_t outstanding = argc > 7 ? strtoull(argv[7], nullptr, 10) : UINT64_MAX;
    uint64_t now = 0, ended = 0, refused = 0;
    std::map<uint64_t, std::deque<uint64_t>> added;
    auto done = [&](uint64_t address) {
        auto &waiting = added[address];
        if (waiting.empty()) {
            fprintf(stderr, "a callback for %#" PRIx64 ", which is not outstanding\n", address);
            exit(3);
        }
        if (strcmp(mode, "saturate"))
            printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", address, waiting.front(), now - waiting.front());
        waiting.pop_front();
        ended++;
    };
    dramsim3::MemorySystem *memory = dramsim3::GetMemorySystem(argv[1], argv[2], nullptr, nullptr);
    memory->RegisterCallbacks(done, done);
    if (memory->GetBusBits() * memory->GetBurstLength() / 8 != 64 || memory->GetTCK() <= 0) return 4;
    if (!strcmp(mode, "idle")) {
        for (; now < count; now++) memory->ClockTick();
        delete memory;
        return 0;
    }
    uint64_t issued = 0, address = random_line(lines);
    while (ended < count) {
        const bool due = !strcmp(mode, "saturate") || (!strcmp(mode, "chain") ? issued == ended : now >= issued * cycles);
        while (due && issued < count && issued - ended < outstanding) {
            const bool is_write = !strcmp(mode, "paced") && issued % 4 == 3;
            if (!memory->WillAcceptTransaction(address, is_write)) {
                if (memory->AddTransaction(address, is_write)) return 5;
                refused++;
                break;
            }
            if (!memory->AddTransaction(address, is_write)) return 6;
            added[address].push_back(now);
            issued++;
            address = random_line(lines);
            if (strcmp(mode, "saturate")) break;
        }
        now++;
        memory->ClockTick();
    }
    if (!strcmp(mode, "saturate")) {
        printf("%" PRIu64 " %" PRIu64 " %.9f\n", now, refused, memory->GetTCK());
        if (refused == 0 && outstanding == UINT64_MAX) return 7;
    }
    memory->PrintStats();
    memory->ResetStats();
    delete memory;
    return 0;
}
