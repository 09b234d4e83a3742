import { expect } from 'chai';
import { OwnRevisions } from './own-revisions.ts';

describe('OwnRevisions', () => {
  const deferred = (): { promise: Promise<string>; resolve: (revision: string) => void } => {
    let resolve: (revision: string) => void = () => {};
    const promise = new Promise<string>((done) => (resolve = done));
    return { promise, resolve };
  };

  it('waits for the responses to all writes in flight before it decides which events its own writes have caused', async () => {
    const revisions = new OwnRevisions();
    const foreign: string[] = [];
    const [first, second] = [deferred(), deferred()];
    const writes = [first, second].map(({ promise }) =>
      revisions.write(
        'ada',
        () => promise,
        (revision) => revision,
      ),
    );
    for (const revision of ['7', '8', '9']) revisions.decide('ada', revision, () => foreign.push(revision));
    revisions.observed('ada', '9');
    first.resolve('7');
    await writes[0];
    expect([foreign, revisions.undecided]).to.deep.equal([[], 3]);
    second.resolve('9');
    await writes[1];
    expect([foreign, revisions.undecided]).to.deep.equal([['8'], 0]);
  });

  it('treats an event that arrives during a write as the change of another writer when the write fails', async () => {
    const revisions = new OwnRevisions();
    const foreign: string[] = [];
    let fail = (): void => {};
    const write = revisions.write(
      'ada',
      () => new Promise<string>((_resolve, reject) => (fail = () => reject(new Error('boom')))),
      (revision) => revision,
    );
    revisions.decide('ada', '7', () => foreign.push('7'));
    fail();
    const error: unknown = await write.catch((reason: unknown) => reason);
    expect(error).to.be.an('error');
    expect(foreign).to.deep.equal(['7']);
  });

  it('recognizes a revision of its own only until the event of this revision, or a newer event, was observed', async () => {
    const revisions = new OwnRevisions();
    const foreign: string[] = [];
    const decide = (revision: string): void => revisions.decide('ada', revision, () => foreign.push(revision));
    await revisions.write(
      'ada',
      async () => '9',
      (revision) => revision,
    );
    decide('9');
    revisions.observed('ada', '10');
    decide('9');
    decide('10');
    expect(foreign).to.deep.equal(['9', '10']);
  });

  it('forgets all revisions of a deleted object, even if a late response to a write has a newer revision than the deletion', async () => {
    const revisions = new OwnRevisions();
    const answer = deferred();
    const write = revisions.write(
      'ada',
      () => answer.promise,
      (revision) => revision,
    );
    revisions.observed('ada', '7', true);
    answer.resolve('9');
    await write;
    expect(revisions.size).to.equal(0);
  });

  it('remembers at most 10,000 objects, and forgets the oldest ones first, even if no event arrives', async () => {
    const revisions = new OwnRevisions();
    const foreign: string[] = [];
    const write = (key: string, send: () => Promise<string>): Promise<string> =>
      revisions.write(key, send, (revision) => revision);
    const slow = deferred();
    const writing = write('slow', () => slow.promise);
    for (let number = 1; number <= 10_001; number += 1) await write(`w-${number}`, async () => String(number));
    expect(revisions.size).to.equal(10_000);
    for (const number of [1, 2, 3, 10_001])
      revisions.decide(`w-${number}`, String(number), () => foreign.push(`w-${number}`));
    slow.resolve('20000');
    await writing;
    revisions.decide('slow', '20000', () => foreign.push('slow'));
    expect(foreign).to.deep.equal(['w-1', 'w-2']);
  });
});
