type Resume = () => void;

const waiting: Resume[] = [];
let isScheduled = false;

/**
 * Resolves in a later turn of the event loop. Of all that wait, one goes on in each turn: many pieces of work that are each
 * short do not add up to a long stall.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    schedule();
  });
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(resumeOne);
}

function resumeOne(): void {
  isScheduled = false;
  waiting.shift()?.();
  if (waiting.length > 0) schedule();
}
