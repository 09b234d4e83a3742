// A process with the connections of many watchers. It also sends the writes that the watchers receive, so that one
// clock measures when a write is sent and when it arrives.
import { answerCalls } from '../processes/answer-calls.ts';
import { deliver } from '../load/deliver.ts';
import type { ReadRound, Writing } from '../load/deliver.ts';
import { Watchers } from '../load/watchers.ts';

let watchers: Watchers | undefined;

answerCalls({
  connect: async ({ url, count }: { readonly url: string; readonly count: number }) => {
    watchers = await Watchers.connect(url, count);
  },
  deliver: async (writing: Writing): Promise<ReadRound> => {
    if (watchers === undefined) throw new Error('there are no watchers yet');
    const before = performance.eventLoopUtilization();
    const figures = await deliver(watchers, writing);
    return { figures, busy: performance.eventLoopUtilization(before).utilization };
  },
});
