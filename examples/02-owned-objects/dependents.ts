import { controller } from 'homeostat';
import { Certificate, Page, Redirect } from './models.ts';

// Placeholders for real programs that serve pages and issue certificates: they report success at once.

export const pageController = controller(Page, {
  async reconcile({ status }) {
    await status({ ready: true });
  },
});

export const redirectController = controller(Redirect, {
  async reconcile({ status }) {
    await status({ ready: true });
  },
});

export const certificateController = controller(Certificate, {
  async reconcile({ object, status }) {
    // RFC 2606 reserves this domain, so no authority issues a certificate for it.
    await status({ ready: !object.spec.host.endsWith('.invalid') });
  },
  cleanup({ object, logger }) {
    logger.info({ host: object.spec.host }, 'the certificate is revoked');
  },
});
