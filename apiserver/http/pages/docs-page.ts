/**
 * Returns the page at `/docs`: Swagger UI. Its scripts and styles are separate files, so that {@link docsPolicy} need
 * not allow inline code. `root` is the relative path from the page to the server's root, since a proxy may add a prefix
 * to the path.
 */
export const docsPage = (root: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Homeostat API</title>
    <link rel="icon" type="image/png" href="${root}docs/favicon-32x32.png">
    <link rel="stylesheet" href="${root}docs/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${root}docs/swagger-ui-bundle.js"></script>
    <script src="${root}docs/initializer.js"></script>
  </body>
</html>
`;

/**
 * The maximum number of kinds that are unfolded. If there are more, all are folded, because a page of thousands of
 * operations is useless.
 */
const maxUnfolded = 20;

/**
 * Returns the script that starts Swagger UI. The kinds of plugins and definitions come first, and are unfolded, unless
 * they are more than {@link maxUnfolded}. The kinds that every server has come last, and are folded: those in the
 * server's own domain, and those whose tags are in `builtIn`. The filter finds tags and paths, ignoring case.
 */
export function docsInitializer({ serviceDomain, builtIn }: DocsKinds): string {
  // Without `validatorUrl: null`, Swagger UI would send the address of the document to a public server for validation.
  return `const builtIn = new Set(${JSON.stringify(builtIn)});
const isOwn = (tag) => !builtIn.has(tag) && !/[ (.]${serviceDomain.replaceAll('.', '\\.')}\\//.test(tag);
const isFound = (text, phrase) => text.toLowerCase().includes(phrase.toLowerCase());
const opsFilter = (tags, phrase) =>
  tags.filter((tag, name) => isFound(name, phrase) || tag.get('operations').some((each) => isFound(each.get('path'), phrase)));
const ui = SwaggerUIBundle({
  url: new URL('../openapi.json', document.currentScript.src).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'none',
  filter: true,
  tagsSorter: (a, b) => isOwn(b) - isOwn(a) || a.localeCompare(b),
  plugins: [() => ({ fn: { opsFilter } })],
  onComplete: () => {
    const tags = ui.specSelectors.tags().map((tag) => tag.get('name')).filter(isOwn);
    if (tags.size <= ${maxUnfolded}) tags.forEach((tag) => void ui.layoutActions.show(['operations-tag', tag], true));
  },
  validatorUrl: null,
});
`;
}

/** The data by which the page distinguishes the kinds that every server has from those of plugins and definitions. */
export interface DocsKinds {
  readonly serviceDomain: string;
  /** The tags of the kinds that every server has, and that are not in the server's own domain. */
  readonly builtIn: readonly string[];
}

/**
 * The Content-Security-Policy of the page. Swagger UI sets inline styles from its script. The policy does not apply to
 * such styles, so `'unsafe-inline'` is not needed. `data:` is allowed for images, because the icons of Swagger UI are
 * images in its style sheet.
 */
export const docsPolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
