#include "device/budget.h"

#include "base/text.h"

size_t grove_block_bytes(const grove_block_rule *rule, size_t bytes)
{
    size_t taken = rule->smallest;

    if (bytes >= rule->large)
        return bytes > SIZE_MAX - rule->page ? 0
                                             : (bytes + rule->page - 1) / rule->page * rule->page;
    while (taken < bytes)
        taken *= 2;
    return taken;
}

bool grove_block_is_better(const grove_block_rule *rule, size_t needed, size_t block, size_t best)
{
    if (block < needed || (needed < rule->large ? block > needed : block / 2 > needed))
        return false;
    return !best || block < best;
}

bool grove_extent_fills(const grove_extent *request, const grove_extent *block)
{
    return !request->gaps.written || (request->gaps.written <= block->gaps.written &&
                                      grove_hash_equal(request->gaps.key, block->gaps.key));
}

bool grove_extent_is_better(const grove_block_rule *rule, const grove_extent *request,
                            const grove_extent *block, const grove_extent *best)
{
    const bool fills = grove_extent_fills(request, block);
    const bool equal_fit = best && grove_extent_fills(request, best) == fills;

    return !request->gaps.written == !block->gaps.written && (!best || equal_fit || fills) &&
           grove_block_is_better(rule, request->bytes, block->bytes, equal_fit ? best->bytes : 0);
}

bool grove_budget_allows(const grove_budget *budget, size_t bytes)
{
    return !budget->limit ||
           (bytes <= budget->limit && budget->in_use + budget->pooled <= budget->limit - bytes);
}

void grove_budget_reserve(grove_budget *budget, uint64_t bytes)
{
    budget->in_use += bytes;
    if (budget->in_use + budget->pooled > budget->peak)
        budget->peak = budget->in_use + budget->pooled;
}

static void hand_out(grove_budget *budget, size_t bytes)
{
    budget->allocations++;
    grove_budget_reserve(budget, bytes);
}

void grove_budget_take(grove_budget *budget, size_t bytes)
{
    budget->system_allocations++;
    hand_out(budget, bytes);
}

void grove_budget_reuse(grove_budget *budget, size_t bytes)
{
    budget->pooled -= bytes;
    hand_out(budget, bytes);
}

void grove_budget_release(grove_budget *budget, size_t bytes)
{
    budget->in_use -= bytes;
    budget->pooled += bytes;
}

void grove_budget_drop(grove_budget *budget, size_t bytes)
{
    budget->pooled -= bytes;
}

int grove_budget_fail(const grove_budget *budget, const char *device, size_t bytes,
                      grove_error *error)
{
    char requested[32], in_use[32], limit_text[32];

    return grove_fail(error, GROVE_NO_MEMORY,
                      "%s: no memory for %s: %s in use%s%s; allow more, or less at a time", device,
                      grove_show_bytes(requested, (double)bytes),
                      grove_show_bytes(in_use, (double)budget->in_use), budget->limit ? " of " : "",
                      budget->limit ? grove_show_bytes(limit_text, (double)budget->limit) : "");
}
