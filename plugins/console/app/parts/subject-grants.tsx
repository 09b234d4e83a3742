import { useEffect, useState } from 'preact/hooks';
import { toFailure } from '../api/failure.ts';
import type { ApiFailure } from '../api/failure.ts';
import type { Rule } from '../api/rights.ts';
import { readGrants } from '../state/grants.ts';
import type { Grant, Subject } from '../state/grants.ts';
import { Failure, Loading, Text } from './basics.tsx';
import { GrantText } from './grant-text.tsx';

/** Shows the permissions of a subject, from its own bindings and those of its groups. */
export function SubjectGrants({ subject }: { readonly subject: Subject }) {
  const [grants, setGrants] = useState<readonly Grant[]>();
  const [failure, setFailure] = useState<ApiFailure>();
  const { groups, isNamedBy } = subject;
  const read = (): void => void readGrants().then(setGrants, (error: unknown) => setFailure(toFailure(error)));
  useEffect(read, []);
  if (failure !== undefined) return <Failure failure={failure} onRetry={read} />;
  if (grants === undefined) return <Loading />;
  const own = grants.filter(
    (grant) => isNamedBy(grant.subject) || (grant.subject.kind === 'Group' && groups.includes(grant.subject.name)),
  );
  if (own.length === 0)
    return (
      <p class="muted">
        No binding names this subject or one of its groups.{' '}
        <a href="#/create/clusterrolebindings.rbac.authorization.k8s.io">Create one</a>
      </p>
    );
  return (
    <ul class="rows-list">
      {own.map((grant) => (
        <li key={`${grant.subject.name} ${grant.namespace}/${grant.binding}`}>
          <GrantText grant={grant} />
          {isNamedBy(grant.subject) ? null : <span class="muted">as one of {grant.subject.name}</span>}
          <span class="below">
            <Text value={grant.rules.map(ruleText).join('; ')} length={200} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Returns a rule as a text such as `get, list: tickets in example.com`. */
function ruleText({ verbs, apiGroups, resources, resourceNames }: Rule): string {
  if (resources.length === 0) return `${verbs.join(', ')}: URL paths that are not resources`;
  const what = resources.includes('*') ? 'all kinds' : resources.join(', ');
  const groups = apiGroups.includes('*') ? 'all groups' : apiGroups.map((each) => each || 'core').join(', ');
  const named = resourceNames.length === 0 ? '' : `, only ${resourceNames.join(', ')}`;
  return `${verbs.includes('*') ? 'everything' : verbs.join(', ')}: ${what} in ${groups}${named}`;
}
