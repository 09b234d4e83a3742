import { useState } from 'preact/hooks';
import { isObject, textOf } from '../base/json.ts';
import { toFailure } from '../api/failure.ts';
import type { ApiFailure } from '../api/failure.ts';
import { keyOf } from '../api/resources.ts';
import type { Resource } from '../api/resources.ts';
import { formatCount } from '../base/shown-text.ts';
import { Badge, Card, Failure, PageHead } from '../parts/basics.tsx';
import { listedKinds, resources } from '../state/kinds.ts';
import { GrantText } from '../parts/grant-text.tsx';
import { covers, mayReadGrants, readGrants, subjectOf } from '../state/grants.ts';
import type { Grant } from '../state/grants.ts';
import { kindHref } from '../state/route.ts';
import { api, may, userName } from '../state/session.ts';
import { TokenUses } from './token-uses.tsx';
import { WhatMay } from './what-may.tsx';

/** The plurals of the kinds of users, accounts, roles and bindings, in the order of the page. */
const plurals = ['users', 'serviceaccounts', 'clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'];

/** The page of permissions: the users and accounts, and their rights. */
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
        {mayReadGrants() ? <WhoMay /> : null}
        {mayReadGrants() ? <WhatMay /> : null}
        <TokenUses />
        {kinds.length === 0 ? null : <AccessKinds kinds={kinds} />}
      </div>
    </div>
  );
}

function AccessKinds({ kinds }: { readonly kinds: readonly Resource[] }) {
  return (
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
  );
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

interface Answer {
  readonly question: string;
  readonly isAllowed: boolean;
  readonly reason: string;
}

const text = (fields: FormData, name: string): string => textOf(fields.get(name));

/** A form that asks the server whether a user may do something. */
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
    <label class={name === 'kind' ? 'filter filter-wide' : 'filter'}>
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

/** A form that finds the users, groups and service accounts to which a binding gives a permission. */
function WhoMay() {
  const [grants, setGrants] = useState<readonly Grant[]>();
  const [failure, setFailure] = useState<ApiFailure>();
  const ask = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const fields = new FormData(event.currentTarget);
    try {
      const [verb, key] = [text(fields, 'verb'), text(fields, 'kind')];
      setGrants((await readGrants()).filter(({ rules }) => rules.some((rule) => covers(rule, verb, key))));
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
          ? 'No binding allows this request, but the group system:masters may do everything.'
          : `${formatCount(grants.length)} subjects and the group system:masters may do this:`}
      </p>
      <ul class="rows-list">
        {grants.map((grant) => (
          <li key={`${subjectOf(grant)} ${grant.namespace}/${grant.binding}`}>
            <strong>{subjectOf(grant)}</strong>
            <GrantText grant={grant} />
          </li>
        ))}
      </ul>
    </>
  );
}
