import { describeApply } from './client-apply.contract.ts';
import { describeConcurrency } from './client-concurrency.contract.ts';
import { describeDeletion } from './client-deletion.contract.ts';
import { describeLists } from './client-lists.contract.ts';
import { describeWatches } from './client-watches.contract.ts';
import { describeWrites } from './client-writes.contract.ts';
import { ContractSubject } from './contract-subject.fixture.ts';
import type { OpenClient } from './contract-subject.fixture.ts';

/** The tests that every Client has to pass, in process and over HTTP. One server serves the whole suite. */
export function describeClientContract(name: string, open: OpenClient): void {
  describe(`${name} as a Client`, () => {
    const subject = new ContractSubject(open);
    describeWrites(subject);
    describeApply(subject);
    describeConcurrency(subject);
    describeDeletion(subject);
    describeLists(subject);
    describeWatches(subject);
  });
}
