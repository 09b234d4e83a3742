import { CelError, noSuchKey, noSuchOverload } from './cel-error.ts';
import { CelList, CelMap, CelOptional, CelUint } from './cel-value.ts';
import type { CelValue } from './cel-value.ts';

/**
 * Evaluates `target[index]`. The result is an optional if `isOptional` is true, or if the target is an optional.
 * @throws CelError
 */
export function readIndex(target: CelValue, index: CelValue, isOptional: boolean): CelValue {
  if (target instanceof CelOptional)
    return target.value === undefined ? CelOptional.none : new CelOptional(find(target.value, index));
  const found = find(target, index);
  if (isOptional) return new CelOptional(found);
  if (found !== undefined) return found;
  throw target instanceof CelList ? new CelError(`index out of bounds: ${shown(index)}`) : noSuchKey(shown(index));
}

function find(target: CelValue, index: CelValue): CelValue | undefined {
  if (target instanceof CelMap) return target.get(index);
  if (!(target instanceof CelList)) throw noSuchOverload();
  const at = positionOf(index);
  return at >= 0 && at < target.length ? target.at(at) : undefined;
}

function positionOf(index: CelValue): number {
  if (typeof index === 'bigint') return Number(index);
  if (index instanceof CelUint) return Number(index.value);
  if (typeof index === 'number' && Number.isInteger(index)) return index;
  throw new CelError('unsupported index type in list');
}

function shown(index: CelValue): string {
  if (index instanceof CelUint) return String(index.value);
  return typeof index === 'object' ? '' : String(index);
}
