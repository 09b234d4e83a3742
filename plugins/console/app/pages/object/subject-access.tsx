import { isObject } from '../../base/json.ts';
import { textsIn } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { keyOf } from '../../api/resources.ts';
import { Card } from '../../parts/basics.tsx';
import { SubjectGrants } from '../../parts/subject-grants.tsx';
import { accountSubject, mayReadGrants, userSubject } from '../../state/grants.ts';
import type { Subject } from '../../state/grants.ts';
import type { Place } from '../../state/place.ts';
import { hrefOf } from '../../state/route.ts';
import { auditEntries, may } from '../../state/session.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

/** Returns the user or service account that an object represents; undefined for an object of another kind. */
function subjectOfObject({ resource, namespace, name }: Place, object: ApiObject): Subject | undefined {
  const key = keyOf(resource);
  if (key.startsWith('users.iam.')) return userSubject(name, isObject(object.spec) ? textsIn(object.spec.groups) : []);
  return key === 'serviceaccounts' ? accountSubject(namespace, name) : undefined;
}

/** Shows the permissions of a user or a service account, and the bindings that grant them. */
export function SubjectAccess({ place, object }: Props) {
  const subject = subjectOfObject(place, object);
  return subject === undefined || !mayReadGrants() ? null : <Access subject={subject} />;
}

function Access({ subject }: { readonly subject: Subject }) {
  const { user } = subject;
  const aside = may('list', auditEntries) ? <a href={hrefOf(['audit'], { user })}>Requests</a> : null;
  return (
    <Card title="Access" aside={aside}>
      <SubjectGrants subject={subject} />
      <p class="muted">This user may also do everything that every user may do.</p>
    </Card>
  );
}
