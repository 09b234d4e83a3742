import { useState } from 'preact/hooks';
import { textOf } from '../base/json.ts';
import { api, isSessionOver, logIn } from '../state/session.ts';
import { Dialog } from '../parts/dialog.tsx';

/** Asks for the credential again, in a dialog over the open page, so that the page keeps the text that a user typed. */
export function LoginDialog() {
  const [problem, setProblem] = useState<string>();
  const [isToken, setToken] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const fields = new FormData(event.currentTarget);
    setProblem(await logIn(Object.fromEntries([...fields].map(([name, value]) => [name, textOf(value)]))));
  };
  const next = new URL(location.href);
  const root = new URL(api.url('/')).pathname;
  const page = api.url('/login', { next: `/${next.pathname.slice(root.length)}${next.search}${next.hash}` });
  return (
    <Dialog title="Your session has ended" onClose={() => (isSessionOver.value = false)}>
      <p>Log in again to continue. This page stays as it is.</p>
      <form class="stack" onSubmit={(event) => void submit(event)}>
        {isToken ? <TokenField /> : <PasswordFields />}
        {problem === undefined ? null : <p role="alert">{problem}</p>}
        <div class="dialog-actions">
          <button type="button" class="link" onClick={() => setToken(!isToken)}>
            {isToken ? 'Use a password' : 'Use a token'}
          </button>
          <a class="button" href={page}>
            Other ways to log in
          </a>
          <button class="button button-primary" type="submit">
            Log in
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function PasswordFields() {
  return (
    <>
      <label key="user" class="field-label">
        User
        <input name="user" autocomplete="username" required />
      </label>
      <label key="password" class="field-label">
        Password
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
    </>
  );
}

function TokenField() {
  return (
    <label key="token" class="field-label">
      Token
      <input name="token" type="password" autocomplete="off" required />
    </label>
  );
}
