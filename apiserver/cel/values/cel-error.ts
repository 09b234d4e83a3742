/** An evaluation that has no value, such as a division by zero. `||` and `&&` ignore it when the other side decides. */
export class CelError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CelError';
  }
}

/** An evaluation that was ended since it cost too much. Nothing ignores it. */
export class CostLimitError extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
    this.name = 'CostLimitError';
  }
}

export function noSuchOverload(): CelError {
  return new CelError('no such overload');
}

export function noSuchKey(key: string): CelError {
  return new CelError(`no such key: ${key}`);
}
