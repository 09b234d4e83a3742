/** A gate at which calls of `hold` wait until `open` is called. */
export interface Gate {
  readonly hold: () => Promise<void>;
  readonly open: () => void;
  readonly isReached: () => boolean;
}

const gates: Gate[] = [];

export function gate(): Gate {
  let isReached = false;
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const hold = (): Promise<void> => {
    isReached = true;
    return opened;
  };
  const made = { hold, open, isReached: () => isReached };
  gates.push(made);
  return made;
}

/** Opens all gates, so that calls that still wait at a gate after a failed test can end. */
export function openGates(): void {
  for (const { open } of gates.splice(0)) open();
}
