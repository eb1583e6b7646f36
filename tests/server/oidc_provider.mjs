// An OpenID Connect provider on loopback, for the tests: any login is let in, and its claims are those of PEOPLE.
import { Provider } from "oidc-provider";

const { PORT, PEOPLE, CLIENT, SECRET, SITE, JWKS } = process.env;
const people = JSON.parse(PEOPLE);
const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  clients: [
    {
      client_id: CLIENT,
      client_secret: SECRET,
      redirect_uris: [`${SITE}/login/oidc/callback`],
      post_logout_redirect_uris: [`${SITE}/login`],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  conformIdTokenClaims: false,
  cookies: { keys: ["for tests only"] },
  jwks: JSON.parse(JWKS),
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
});
provider.listen(Number(PORT), "127.0.0.1", () => console.log("listening"));
