// The server's key, where it has one: it comes with the address (#key=…) or from whoever sits here, and is kept as long
// as this tab is open. It never stands in an address that is sent, nor in the history.

const KEPT = "key of the server";
const GIVEN = /^#key=(.+)$/;
const SENT = GIVEN.exec(location.hash);

let key = null;
try { key = sessionStorage.getItem(KEPT); } catch { /* a browser without storage asks again */ }
if (SENT) {
  try { keep(decodeURIComponent(SENT[1])); } catch { /* no key that anybody made */ }
  history.replaceState(null, "", location.pathname);
}

// The address of a server that was started again, in a tab that is open already.
window.addEventListener("popstate", (event) => {
  if (!GIVEN.test(location.hash)) return;
  event.stopImmediatePropagation();
  location.reload();
});

function keep(given) {
  key = given;
  try { sessionStorage.setItem(KEPT, key); } catch { /* kept until the page is left */ }
}

export const hasKey = () => key !== null;
export const withKey = (headers = {}) => (key === null ? headers : { ...headers, authorization: `Bearer ${key}` });

let asking = null;

// Whether somebody gave a key; all who wait for one get the same.
export function askForKey() {
  asking ??= new Promise((settle) => {
    const dialog = document.createElement("dialog");
    dialog.className = "box ask-key";
    dialog.innerHTML = `<form method="dialog"><h2></h2><p>It was shown in the terminal where <code>rhoplan serve</code> was
      started, or whoever started it can tell you.</p><p class="row wrap"><label>Key <input type="password" required
      autocomplete="off" spellcheck="false"></label><button class="small strong">Continue</button></p></form>`;
    dialog.querySelector("h2").textContent = hasKey() ? "That key is not this server's" : "This server needs a key";
    dialog.addEventListener("submit", (event) => {
      event.preventDefault();
      keep(dialog.querySelector("input").value.trim());
      dialog.close("given");
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      asking = null;
      settle(dialog.returnValue === "given");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}
