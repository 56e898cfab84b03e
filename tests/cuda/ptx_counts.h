// What translated PTX counts when compiled with -DPTX_COUNTS: how often each block of statements
// ran, and what each access to memory moved. At the end of the process, or when the driver unloads
// the module, lines are added to the file GROVE_PTX_COUNTS (default ptx-counts.tsv), with tabs
// between:
//
//     launch KERNEL launches blocks warps threads
//     block  KERNEL function label first-line last-line warps threads source-lines
//     access KERNEL function label line space load|store|atomic bytes warps threads units
//
// Lines are those of the PTX; source-lines are file:line, the innermost of inlined ones. `warps` is
// how often a warp runs it: the number of its lane that runs it most often, which is right unless
// lanes take different ways that exclude each other. `threads` is the sum over threads. `bytes` are
// those of one thread. `units` of global, generic and local memory are sectors of 32 bytes, of a
// warp's access together; of shared memory the cycles that its 32 banks need. Parameters are not
// counted: they are constants.
#ifndef GROVE_TESTS_CUDA_PTX_COUNTS_H
#define GROVE_TESTS_CUDA_PTX_COUNTS_H

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

struct ptx_block {
    const char *function, *label;
    unsigned first, last;
    const char *places;
};
struct ptx_site {
    unsigned line, block;
    const char *space, *access;
    unsigned bytes;
};
extern const ptx_block ptx_blocks[];
extern const ptx_site ptx_sites[];
extern const size_t ptx_block_count, ptx_site_count;

struct ptx_access {
    uint32_t site, visit; // the access number `visit` of a thread there
    uint64_t at;
    uint32_t lane;
};
struct ptx_totals {
    uint64_t launches = 0, blocks = 0, warps = 0, threads = 0;
    std::vector<uint64_t> block_warps, block_threads, site_warps, site_threads, site_units;
};

// What one thread has run, on its own stack.
struct ptx_trips {
    std::vector<uint32_t> blocks, sites;
    std::vector<ptx_access> accesses;
    uint32_t lane;
};

struct ptx_counter {
    std::map<std::string, ptx_totals> totals; // by kernel
    // Of the running block of threads, by warp:
    std::map<unsigned, std::vector<uint32_t>> most;
    std::map<unsigned, std::vector<ptx_access>> accesses;
    unsigned ended = 0;

    // How many different numbers there are.
    static unsigned count_different(std::vector<uint64_t> &numbers)
    {
        std::sort(numbers.begin(), numbers.end());
        return (unsigned)(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
    }
    // An access lies in one sector, since it is aligned; but in local memory the words of all lanes
    // lie side by side.
    static unsigned sectors(const ptx_access *first, const ptx_access *last, const ptx_site &site)
    {
        std::vector<uint64_t> found;
        for (; first < last; first++)
            if (strcmp(site.space, "local") != 0)
                found.push_back(first->at / 32);
            else
                for (unsigned k = 0; k < site.bytes; k += 4)
                    found.push_back(((first->at + k) / 4 * 128 + first->lane * 4) / 32);
        return count_different(found);
    }
    // Lanes take turns where they ask for more than 128 bytes together.
    static unsigned cycles(const ptx_access *first, const ptx_access *last, const ptx_site &site)
    {
        unsigned lanes = 32 / std::max(1u, site.bytes / 4), sum = 0;
        for (unsigned turn = 0; turn < 32 / lanes; turn++) {
            std::vector<uint64_t> words[32];
            unsigned most = 0;
            for (const ptx_access *a = first; a < last; a++)
                for (unsigned k = 0; a->lane / lanes == turn && k < site.bytes; k += 4)
                    words[(a->at + k) / 4 % 32].push_back((a->at + k) / 4);
            for (std::vector<uint64_t> &bank : words)
                most = std::max(most, count_different(bank));
            sum += most;
        }
        return sum;
    }
    void add_accesses(ptx_totals &t, std::vector<ptx_access> &list)
    {
        std::stable_sort(list.begin(), list.end(), [](const ptx_access &a, const ptx_access &b) {
            return a.site != b.site ? a.site < b.site : a.visit < b.visit;
        });
        for (size_t from = 0, to; from < list.size(); from = to) {
            const ptx_access &a = list[from];
            for (to = from;
                 to < list.size() && list[to].site == a.site && list[to].visit == a.visit;)
                to++;
            const ptx_site &site = ptx_sites[a.site];
            const ptx_access *end = list.data() + to;
            t.site_warps[a.site]++;
            t.site_threads[a.site] += to - from;
            t.site_units[a.site] +=
                strcmp(site.space, "shared") ? sectors(&a, end, site) : cycles(&a, end, site);
        }
    }
    void end_block(ptx_totals &t)
    {
        for (auto &warp : most) {
            t.warps++;
            for (size_t k = 0; k < ptx_block_count; k++)
                t.block_warps[k] += warp.second[k];
        }
        for (auto &warp : accesses)
            add_accesses(t, warp.second);
        most.clear();
        accesses.clear();
        ended = 0;
        t.blocks++;
        t.launches += blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
    }
    void write(FILE *file, const std::string &kernel, const ptx_totals &t) const
    {
        const char *name = kernel.c_str();
        fprintf(file, "launch\t%s\t%llu\t%llu\t%llu\t%llu\n", name, (unsigned long long)t.launches,
                (unsigned long long)t.blocks, (unsigned long long)t.warps,
                (unsigned long long)t.threads);
        for (size_t k = 0; k < ptx_block_count; k++) {
            const ptx_block &b = ptx_blocks[k];
            if (t.block_warps[k])
                fprintf(file, "block\t%s\t%s\t%s\t%u\t%u\t%llu\t%llu\t%s\n", name, b.function,
                        b.label, b.first, b.last, (unsigned long long)t.block_warps[k],
                        (unsigned long long)t.block_threads[k], b.places);
        }
        for (size_t k = 0; k < ptx_site_count; k++) {
            const ptx_site &s = ptx_sites[k];
            const ptx_block &b = ptx_blocks[s.block];
            if (t.site_warps[k])
                fprintf(file, "access\t%s\t%s\t%s\t%u\t%s\t%s\t%u\t%llu\t%llu\t%llu\n", name,
                        b.function, b.label, s.line, s.space, s.access, s.bytes,
                        (unsigned long long)t.site_warps[k], (unsigned long long)t.site_threads[k],
                        (unsigned long long)t.site_units[k]);
        }
    }

    void end_thread(const char *kernel, const ptx_trips &own)
    {
        ptx_totals &t = totals[kernel];
        unsigned place = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        std::vector<uint32_t> &warp = most[place / 32];

        t.block_warps.resize(ptx_block_count);
        t.block_threads.resize(ptx_block_count);
        t.site_warps.resize(ptx_site_count);
        t.site_threads.resize(ptx_site_count);
        t.site_units.resize(ptx_site_count);
        warp.resize(ptx_block_count);
        t.threads++;
        for (size_t k = 0; k < ptx_block_count; k++) {
            warp[k] = std::max(warp[k], own.blocks[k]);
            t.block_threads[k] += own.blocks[k];
        }
        std::vector<ptx_access> &list = accesses[place / 32];
        list.insert(list.end(), own.accesses.begin(), own.accesses.end());
        if (++ended == blockDim.x * blockDim.y * blockDim.z)
            end_block(t);
    }
    ~ptx_counter()
    {
        const char *path = getenv("GROVE_PTX_COUNTS");
        FILE *file = totals.empty() ? nullptr : fopen(path ? path : "ptx-counts.tsv", "a");

        for (const auto &each : totals)
            if (file)
                write(file, each.first, each.second);
        if (file)
            fclose(file);
    }
};
static ptx_counter ptx_counts;

#define PTX_TRIPS           trips
#define PTX_TRIPS_PARAMETER ptx_trips *trips
#define PTX_BLOCK(number)   trips->blocks[number]++;
#define PTX_COUNT(site, at) ptx_count_access(trips, site, (uint64_t)(at)),
static inline void ptx_count_access(ptx_trips *trips, uint32_t site, uint64_t at)
{
    trips->accesses.push_back({site, trips->sites[site]++, at, trips->lane});
}
#define PTX_COUNT_START()                                                                          \
    const char *const counted = ptx_kernel;                                                        \
    ptx_trips own, *trips = &own;                                                                  \
    own.blocks.resize(ptx_block_count);                                                            \
    own.sites.resize(ptx_site_count);                                                              \
    own.lane = (uint32_t)emulated_now->lane()
#define PTX_END ptx_counts.end_thread(counted, own);

#endif
