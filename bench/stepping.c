/* Keeps 32 random reads of 4 KiB outstanding until as many have completed as the last argument says: what
 * bench/stepping.sh counts. Arguments: system, changes separated by newlines, preparation, requests. */
#include "nandram_sim.h"

#include <err.h>
#include <stdlib.h>

enum { DEPTH = 32 };

static void check(int code) {
    if (code != NANDRAM_OK)
        errx(2, "%s", nandram_message());
}

int main(int count, char **arguments) {
    if (count != 5)
        errx(2, "expected: stepping SYSTEM CHANGES PREPARATION REQUESTS");
    nandram_sim_device drive = {.system = arguments[1], .set = arguments[2], .prepare = arguments[3]};
    nandram_sim *simulation;
    check(nandram_sim_open(&drive, 1, 1, &simulation));
    uint64_t bytes, now = 0, random = 1;
    check(nandram_sim_bytes(simulation, 0, &bytes));
    nandram_sim_request requests[DEPTH] = {0};
    nandram_sim_completion completions[DEPTH];
    long submitted = 0, left = atol(arguments[4]), most = left;
    for (size_t ended = DEPTH; left > 0; left -= (long)ended) {
        size_t more = 0;
        for (; more < ended && submitted < most; more++, submitted++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            requests[more] = (nandram_sim_request){
                .at = now, .address = (random >> 20) % (bytes / 4096) * 4096, .bytes = 4096, .op = NANDRAM_SIM_READ};
        }
        check(nandram_sim_submit(simulation, requests, more, NULL));
        check(nandram_sim_advance_to_completion(simulation, UINT64_MAX, completions, DEPTH, &ended));
        now = completions[0].completed;
    }
    check(nandram_sim_close(simulation));
}
