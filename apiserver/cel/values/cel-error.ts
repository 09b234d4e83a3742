/** The error of an evaluation, such as a division by zero. `||` and `&&` ignore it when their other side decides. */
export class CelError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CelError';
  }
}

/**
 * The error of an evaluation that was ended because it cost too much. Unlike a {@link CelError}, it always ends the
 * evaluation: `||` and `&&` do not ignore it.
 */
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
