// Show the versions that stand beside this one, each linked to this page; where a version does not
// have it, to its start page in the same language. `versions.json` is written by docs/_ext/publish.py.
(async () => {
  const menu = document.querySelector(".versions");
  if (!location.protocol.startsWith("http")) return;
  const root = new URL(menu.dataset.root, location);
  const answer = await fetch(new URL("versions.json", root));
  if (!answer.ok) return;
  const path = new URL(menu.dataset.here, location).pathname.slice(root.pathname.length);
  const [current, language, ...rest] = path.split("/");
  const wanted = [[language, ...rest].join("/"), `${language}/index.html`];
  for (const { name, pages } of (await answer.json()).versions) {
    const link = document.createElement("a");
    link.textContent = menu.dataset[name] ?? name;
    link.href = new URL(`${name}/${wanted.find((page) => pages.includes(page)) ?? ""}`, root);
    if (name === current) link.setAttribute("aria-current", "true");
    menu.append(link);
  }
  menu.hidden = false;
})();
