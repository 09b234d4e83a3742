/** The content of the login page. */
export interface LoginPageState {
  /** The path that the browser requested before the login. */
  readonly next: string;
  /**
   * The relative path from the page to the server's root, such as `../`, since a proxy may add a prefix to the path.
   */
  readonly root: string;
  /** The reason why the person's last attempt to log in failed; undefined when there is nothing to report. */
  readonly problem?: string;
  /** The identity providers at which a person can log in. */
  readonly providers: readonly { readonly name: string; readonly displayName: string }[];
}

/**
 * Returns the page on which a person logs in. Its style and its script are separate files, so that its
 * Content-Security-Policy need not allow inline code.
 */
export function loginPage({ next, root, problem, providers }: LoginPageState): string {
  const head = `\n    <script src="${root}login/login.js" defer></script>`;
  const hidden = `<input name="next" type="hidden" value="${escapeHtml(next)}">`;
  return page(
    { title: 'Log in – Homeostat', root, head },
    `<form method="post" action="${root}login">${problem === undefined ? '' : `\n        <p role="alert">${escapeHtml(problem)}</p>`}
        <label>User <input name="user" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus></label>
        <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
        ${hidden}
        <button>Log in</button>
      </form>
      <details>
        <summary>Log in with a token</summary>
        <form method="post" action="${root}login">
          <label>Token <input name="token" type="password" autocomplete="off" required></label>
          ${hidden}
          <button>Log in with the token</button>
        </form>
      </details>${providers.map((provider) => link(provider, { next, root })).join('')}`,
  );
}

/**
 * Returns the link to a provider. It is not a button of the form, because the page's Content-Security-Policy allows
 * forms, and the redirects that follow them, only to this server.
 */
function link(
  { name, displayName }: LoginPageState['providers'][number],
  { next, root }: Pick<LoginPageState, 'next' | 'root'>,
): string {
  const href = `${root}login/oidc/${name}?next=${encodeURIComponent(next)}`;
  return `\n      <a class="provider" href="${escapeHtml(href)}">Log in with ${escapeHtml(displayName)}</a>`;
}

/**
 * Returns the page that continues after a login at a provider. A redirect would not work: it would belong to the
 * navigation that the provider's page began, in which browsers do not send the session cookie (SameSite=Strict).
 */
export function continuePage({ next, root }: Pick<LoginPageState, 'next' | 'root'>): string {
  const href = escapeHtml(root + next.slice(1));
  const head = `\n    <meta http-equiv="refresh" content="0;url=${href}">`;
  return page(
    { title: 'Logged in – Homeostat', root, head },
    `<a class="provider" href="${href}">You are logged in. Continue</a>`,
  );
}

function page({ title, root, head }: PageHead, content: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${root}login/login.css">${head}
  </head>
  <body>
    <main>
      <h1>Homeostat</h1>
      ${content}
    </main>
  </body>
</html>
`;
}

interface PageHead {
  readonly title: string;
  readonly root: string;
  readonly head: string;
}

export const loginStyle = `:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { width: min(20rem, 90vw); }
h1 { font-size: 1.4rem; }
form { display: grid; gap: 1rem; }
label { display: grid; gap: 0.3rem; }
input, button { font: inherit; padding: 0.5rem; border: 1px solid GrayText; border-radius: 0.3rem; }
button { cursor: pointer; font-weight: 600; }
.provider { display: block; margin-top: 1rem; padding: 0.5rem; border: 1px solid GrayText; border-radius: 0.3rem; color: inherit; text-align: center; text-decoration: none; }
details { margin-top: 1.5rem; }
summary { cursor: pointer; margin-bottom: 1rem; }
p { margin: 0; padding: 0.5rem; border-left: 0.3rem solid crimson; }
`;

/**
 * The script of the login page. Browsers do not send the fragment of a URL, so the script adds it to the path that the
 * person wanted.
 */
export const loginScript = `const inputs = document.querySelectorAll('input[name=next]');
for (const next of inputs) if (location.hash !== '' && !next.value.includes('#')) next.value += location.hash;
for (const link of document.querySelectorAll('a.provider')) {
  const url = new URL(link.href);
  url.searchParams.set('next', inputs[0].value);
  link.href = url.href;
}
`;

export const loginPolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
