import { useState } from 'preact/hooks';
import { isArray, isObject, textOf } from '../base/json.ts';
import type { Json } from '../base/json.ts';
import { toFailure } from '../api/failure.ts';
import type { ApiFailure } from '../api/failure.ts';
import { keyOf } from '../api/resources.ts';
import { nameOf, namespaceOf } from '../base/object.ts';
import type { ApiObject } from '../base/object.ts';
import { formatCount } from '../base/shown-text.ts';
import { Badge, Card, Failure, PageHead } from '../parts/basics.tsx';
import { listedKinds, resources } from '../state/kinds.ts';
import { objectsOf } from '../state/plugins.ts';
import { kindHref, objectHref } from '../state/route.ts';
import { api, may, userName } from '../state/session.ts';
import { TokenUses } from './token-uses.tsx';

/** The kinds that say who may do what. */
const plurals = ['users', 'serviceaccounts', 'clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'];

/** The users and accounts, and what they may do. */
export function AccessPage() {
  const kinds = plurals.flatMap((plural) =>
    listedKinds.value.filter((each) => each.plural === plural && may('list', each)),
  );
  return (
    <div class="page">
      <PageHead title="Access">
        <span class="muted">You are {userName.value || 'not known'}</span>
      </PageHead>
      <div class="stack">
        <MayForm />
        <WhoMay />
        <TokenUses />
        <Card title="Users, accounts, roles and bindings">
          <ul class="kind-counts kind-counts-named">
            {kinds.map((kind) => (
              <li key={keyOf(kind)}>
                <a class="kind-count" href={kindHref(keyOf(kind))}>
                  <strong>{kind.kind}</strong>
                  <span>{kind.group || 'core'}</span>
                </a>
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </div>
  );
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

interface Answer {
  readonly question: string;
  readonly isAllowed: boolean;
  readonly reason: string;
}

const text = (fields: FormData, name: string): string => textOf(fields.get(name));

/** Asks the server whether a user may do something. */
function MayForm() {
  const [answer, setAnswer] = useState<Answer>();
  const [failure, setFailure] = useState<ApiFailure>();
  const ask = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const fields = new FormData(event.currentTarget);
    try {
      setAnswer(await review(fields));
      setFailure(undefined);
    } catch (error) {
      setFailure(toFailure(error));
    }
  };
  return (
    <Card title="May a user do this?">
      <form class="filters" onSubmit={(event) => void ask(event)}>
        <label class="filter">
          <span>User</span>
          <input name="user" placeholder={userName.value} />
        </label>
        <label class="filter">
          <span>Groups</span>
          <input name="groups" placeholder="separated by commas" />
        </label>
        <Choice name="verb" label="Verb" options={verbs} />
        <Choice name="kind" label="Kind" options={listedKinds.value.map(keyOf)} />
        <label class="filter">
          <span>Name</span>
          <input name="name" placeholder="any" />
        </label>
        <label class="filter">
          <span>Namespace</span>
          <input name="namespace" placeholder="all" />
        </label>
        <button class="button button-primary" type="submit">
          Ask
        </button>
      </form>
      {failure === undefined ? null : <Failure failure={failure} />}
      {answer === undefined ? null : (
        <p role="status" class="line">
          <Badge tone={answer.isAllowed ? 'good' : 'bad'}>{answer.isAllowed ? 'yes' : 'no'}</Badge> {answer.question}{' '}
          <span class="muted">{answer.reason}</span>
        </p>
      )}
    </Card>
  );
}

function Choice({
  name,
  label,
  options,
}: {
  readonly name: string;
  readonly label: string;
  readonly options: readonly string[];
}) {
  return (
    <label class="filter">
      <span>{label}</span>
      <select name={name}>
        {options.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

async function review(fields: FormData): Promise<Answer> {
  const user = text(fields, 'user');
  const kind = resources.value?.find((each) => keyOf(each) === text(fields, 'kind'));
  const resourceAttributes = {
    verb: text(fields, 'verb'),
    group: kind?.group ?? '',
    version: kind?.version ?? '',
    resource: kind?.plural ?? '',
    name: text(fields, 'name'),
    namespace: text(fields, 'namespace'),
  };
  const groups = text(fields, 'groups')
    .split(',')
    .flatMap((each) => (each.trim() === '' ? [] : [each.trim()]));
  const isSelf = user === '';
  const reviewKind = isSelf ? 'SelfSubjectAccessReview' : 'SubjectAccessReview';
  const spec = isSelf
    ? { resourceAttributes }
    : { user, groups: [...groups, 'system:authenticated'], resourceAttributes };
  const { body } = await api.call(`/apis/authorization.k8s.io/v1/${reviewKind.toLowerCase()}s`, {
    method: 'POST',
    body: { apiVersion: 'authorization.k8s.io/v1', kind: reviewKind, spec },
  });
  const status = isObject(body) && isObject(body.status) ? body.status : {};
  const { verb, resource, name } = resourceAttributes;
  const question = `${user || userName.value} ${status.allowed === true ? 'may' : 'may not'} ${verb} ${resource} ${name}`;
  return { question, isAllowed: status.allowed === true, reason: textOf(status.reason) };
}

interface Grant {
  readonly subject: string;
  readonly binding: ApiObject;
  readonly role: string;
}

/** Finds who may do something, by the bindings and their roles. */
function WhoMay() {
  const [grants, setGrants] = useState<readonly Grant[]>();
  const [failure, setFailure] = useState<ApiFailure>();
  const ask = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const fields = new FormData(event.currentTarget);
    try {
      setGrants(await findGrants(text(fields, 'verb'), text(fields, 'kind')));
      setFailure(undefined);
    } catch (error) {
      setFailure(toFailure(error));
    }
  };
  return (
    <Card title="Who may …?">
      <form class="filters" onSubmit={(event) => void ask(event)}>
        <Choice name="verb" label="Verb" options={verbs} />
        <Choice name="kind" label="Kind" options={listedKinds.value.map(keyOf)} />
        <button class="button button-primary" type="submit">
          Find
        </button>
      </form>
      {failure === undefined ? null : <Failure failure={failure} />}
      {grants === undefined ? null : <Grants grants={grants} />}
    </Card>
  );
}

function Grants({ grants }: { readonly grants: readonly Grant[] }) {
  return (
    <>
      <p role="status">
        {grants.length === 0
          ? 'No binding allows it; the group system:masters may do everything.'
          : `${formatCount(grants.length)} subjects, and the group system:masters:`}
      </p>
      <ul class="rows-list">
        {grants.map(({ subject, binding, role }) => (
          <li key={`${subject} ${namespaceOf(binding)}/${nameOf(binding)}`}>
            <strong>{subject}</strong>
            <span class="grow muted">
              by the role {role}
              {namespaceOf(binding) === '' ? '' : ` in the namespace ${namespaceOf(binding)}`}
            </span>
            <a href={objectHref(bindingKey(binding), namespaceOf(binding), nameOf(binding))}>{nameOf(binding)}</a>
          </li>
        ))}
      </ul>
    </>
  );
}

const rbac = 'rbac.authorization.k8s.io';
const bindingKey = (binding: ApiObject): string =>
  `${namespaceOf(binding) === '' ? 'clusterrolebindings' : 'rolebindings'}.${rbac}`;

async function findGrants(verb: string, key: string): Promise<readonly Grant[]> {
  const [plural = '', ...group] = key.split('.');
  const read = async (name: string): Promise<readonly ApiObject[]> =>
    objectsOf(await api.get(`/apis/${rbac}/v1/${name}`));
  const [roles, clusterRoles, bindings, clusterBindings] = await Promise.all(
    ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'].map(read),
  );
  const allows = (role: ApiObject): boolean =>
    listOf(role.rules).some((rule) => covers(rule, verb, [group.join('.'), plural]));
  const allowing = new Set([...(roles ?? []), ...(clusterRoles ?? [])].filter(allows).map(roleName));
  return [...(bindings ?? []), ...(clusterBindings ?? [])].flatMap((binding) => {
    const ref = isObject(binding.roleRef) ? binding.roleRef : {};
    const namespace = ref.kind === 'Role' ? namespaceOf(binding) : '';
    if (!allowing.has(`${namespace}/${textOf(ref.name)}`)) return [];
    const subjects = listOf(binding.subjects);
    return subjects.map(({ kind, name }) => ({
      subject: `${textOf(kind)} ${textOf(name)}`,
      binding,
      role: textOf(ref.name),
    }));
  });
}

const roleName = (role: ApiObject): string => `${namespaceOf(role)}/${nameOf(role)}`;

function listOf(value: Json | undefined) {
  return isArray(value) ? value.filter(isObject) : [];
}

function covers(
  rule: { readonly [key: string]: Json | undefined },
  verb: string,
  [group, plural]: readonly [string, string],
): boolean {
  const has = (field: string, wanted: string): boolean => {
    const list = rule[field];
    return isArray(list) && (list.includes('*') || list.includes(wanted));
  };
  return has('verbs', verb) && has('apiGroups', group) && has('resources', plural);
}
