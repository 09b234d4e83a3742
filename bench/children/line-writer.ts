import { subscribe } from 'node:diagnostics_channel';
import { open } from 'node:fs/promises';

/** When a batch of lines reaches this size, it is written without waiting for further lines, as in the audit log. */
const enoughBytes = 256 * 1024;
/** A batch of lines below `enoughBytes` is written after this time in milliseconds, as in the audit log. */
const gatherMs = 50;

/**
 * Writes the same line to a file for each response of this process. This is the least possible cost of a log of
 * requests. Lines are copied into one buffer, which is written as a batch.
 */
export async function writeLines({ path, line }: { readonly path: string; readonly line: string }): Promise<void> {
  const file = await open(path, 'w');
  let [gathering, spare] = [Buffer.alloc(2 * enoughBytes), Buffer.alloc(2 * enoughBytes)];
  let length = 0;
  let isWriting = false;
  let timer: NodeJS.Timeout | undefined;
  const write = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting) return;
    isWriting = true;
    const batch = gathering.subarray(0, length);
    [gathering, spare] = [spare, gathering];
    length = 0;
    await file.write(batch);
    isWriting = false;
    if (length > 0) timer ??= setTimeout(() => void write(), gatherMs);
  };
  subscribe('http.server.response.finish', () => {
    length += gathering.write(line, length, 'latin1');
    if (length >= enoughBytes) void write();
    else timer ??= setTimeout(() => void write(), gatherMs);
  });
}
