import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiObject } from '../../base/object.ts';
import { browserClock } from '../../base/time.ts';
import { toFailure } from '../../api/failure.ts';
import type { FieldCause } from '../../api/failure.ts';
import type { Resource } from '../../api/resources.ts';
import { saveObject } from './save-object.ts';
import type { Draft } from './use-draft.ts';

/** The length of the pause in typing after which the console sends the draft as a dry run. */
const pauseMs = 500;

const none: readonly FieldCause[] = [];

export interface LiveCheckParts {
  readonly resource: Resource;
  readonly draft: Draft;
  readonly stored: ApiObject | undefined;
}

/**
 * Returns the server's messages about the fields of a draft, from a dry run after each pause in typing: only the server
 * knows all rules. Other failures are shown when the user saves.
 */
export function useLiveCheck({ resource, draft, stored }: LiveCheckParts): readonly FieldCause[] {
  const [causes, setCauses] = useState(none);
  const first = useRef(draft.value);
  useEffect(() => {
    if (draft.value === first.current || draft.mistake !== undefined) return undefined;
    let isCurrent = true;
    const check = async (): Promise<void> => {
      const found = await saveObject({ resource, draft: draft.value, stored, isDryRun: true }).then(
        () => none,
        (error: unknown) => toFailure(error).causes,
      );
      if (isCurrent) setCauses(found);
    };
    const cancel = browserClock.after(pauseMs, () => void check());
    return () => {
      isCurrent = false;
      cancel();
    };
  }, [draft.value, draft.mistake, stored?.metadata.resourceVersion]);
  return causes;
}
