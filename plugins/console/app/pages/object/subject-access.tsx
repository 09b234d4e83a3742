import { useEffect, useState } from 'preact/hooks';
import { isObject } from '../../base/json.ts';
import { textsIn } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { toFailure } from '../../api/failure.ts';
import type { ApiFailure } from '../../api/failure.ts';
import { keyOf } from '../../api/resources.ts';
import type { Rule } from '../../api/rights.ts';
import { Card, Failure, Text } from '../../parts/basics.tsx';
import { GrantText } from '../../parts/grant-text.tsx';
import { mayReadGrants, readGrants } from '../../state/grants.ts';
import type { Grant } from '../../state/grants.ts';
import type { Place } from '../../state/place.ts';
import { hrefOf } from '../../state/route.ts';
import { auditEntries, may } from '../../state/session.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

interface Subject {
  /** The name in requests. */
  readonly user: string;
  readonly groups: readonly string[];
  readonly isNamedBy: (subject: Grant['subject']) => boolean;
}

/** The user that an object represents; undefined for other kinds. */
function subjectOfObject({ resource, namespace, name }: Place, object: ApiObject): Subject | undefined {
  const key = keyOf(resource);
  if (key.startsWith('users.iam.')) {
    const own = isObject(object.spec) ? textsIn(object.spec.groups) : [];
    return {
      user: name,
      groups: own,
      isNamedBy: (subject) => subject.kind === 'User' && subject.name === name,
    };
  }
  if (key !== 'serviceaccounts') return undefined;
  const user = `system:serviceaccount:${namespace}:${name}`;
  return {
    user,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    isNamedBy: (subject) =>
      subject.kind === 'ServiceAccount'
        ? subject.namespace === namespace && subject.name === name
        : subject.kind === 'User' && subject.name === user,
  };
}

/** The permissions of a user or a service account, and the bindings that grant them. */
export function SubjectAccess({ place, object }: Props) {
  const subject = subjectOfObject(place, object);
  return subject === undefined || !mayReadGrants() ? null : <Access subject={subject} />;
}

function Access({ subject }: { readonly subject: Subject }) {
  const [grants, setGrants] = useState<readonly Grant[]>();
  const [failure, setFailure] = useState<ApiFailure>();
  const { user, groups, isNamedBy } = subject;
  const read = (): void => void readGrants().then(setGrants, (error: unknown) => setFailure(toFailure(error)));
  useEffect(read, []);
  const own = grants?.filter(
    (grant) => isNamedBy(grant.subject) || (grant.subject.kind === 'Group' && groups.includes(grant.subject.name)),
  );
  return (
    <Card title="Access" aside={may('list', auditEntries) ? <a href={hrefOf(['audit'], { user })}>Requests</a> : null}>
      {failure === undefined ? null : <Failure failure={failure} onRetry={read} />}
      {own?.length === 0 ? (
        <p class="muted">
          No binding names this user or a group of it.{' '}
          <a href="#/create/clusterrolebindings.rbac.authorization.k8s.io">Create one</a>
        </p>
      ) : null}
      <ul class="rows-list">
        {own?.map((grant) => (
          <li key={`${grant.subject.name} ${grant.namespace}/${grant.binding}`}>
            <GrantText grant={grant} />
            {isNamedBy(grant.subject) ? null : <span class="muted">as one of {grant.subject.name}</span>}
            <span class="below">
              <Text value={grant.rules.map(ruleText).join('; ')} length={200} />
            </span>
          </li>
        ))}
      </ul>
      <p class="muted">It may also do what every user may.</p>
    </Card>
  );
}

/** `get, list: tickets in example.com`. */
function ruleText({ verbs, apiGroups, resources, resourceNames }: Rule): string {
  if (resources.length === 0) return `${verbs.join(', ')}: paths of the server`;
  const what = resources.includes('*') ? 'all kinds' : resources.join(', ');
  const groups = apiGroups.includes('*') ? 'all groups' : apiGroups.map((each) => each || 'core').join(', ');
  const named = resourceNames.length === 0 ? '' : `, only ${resourceNames.join(', ')}`;
  return `${verbs.includes('*') ? 'everything' : verbs.join(', ')}: ${what} in ${groups}${named}`;
}
