import { isObject, textOf } from '../base/json.ts';
import type { ApiObject } from '../base/object.ts';
import { Badge } from '../parts/basics.tsx';
import type { Tone } from '../parts/basics.tsx';

const tones: Readonly<Record<string, Tone>> = { Started: 'good', Failed: 'bad', Stopped: 'quiet' };

export function phaseOf({ status }: ApiObject): string {
  return isObject(status) ? textOf(status.phase) || 'Created' : 'Created';
}

export function PhaseBadge({ plugin }: { readonly plugin: ApiObject }) {
  const phase = phaseOf(plugin);
  return <Badge tone={tones[phase] ?? 'busy'}>{phase}</Badge>;
}
