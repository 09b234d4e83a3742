import { FunctionTable } from '../types/cel-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { conversionOverloads } from './conversions.ts';
import { formatOverloads } from './formats.ts';
import { ipOverloads } from './ips.ts';
import { listOverloads } from './lists.ts';
import { operatorOverloads } from './operators.ts';
import { quantityOverloads } from './quantities.ts';
import { regexOverloads } from './regex.ts';
import { semverOverloads } from './semvers.ts';
import { setOverloads } from './sets.ts';
import { stringOverloads } from './strings.ts';
import { timeOverloads } from './time-parts.ts';
import { urlOverloads } from './urls.ts';

/** The functions of CEL and of Kubernetes, as kube-apiserver 1.34 has them. */
export const standardOverloads: readonly Overload[] = [
  ...operatorOverloads(),
  ...conversionOverloads(),
  ...stringOverloads(),
  ...regexOverloads(),
  ...timeOverloads(),
  ...listOverloads(),
  ...setOverloads(),
  ...urlOverloads(),
  ...quantityOverloads(),
  ...ipOverloads(),
  ...semverOverloads(),
  ...formatOverloads(),
];

export const standardFunctions: FunctionTable = new FunctionTable(standardOverloads);
