// The versions of a site, from versions.json in the folder above this one: ["0.4", "0.3"], names of folders.
// Where that is not there, as on a disk, nothing is shown.
const root = new URL(document.documentElement.dataset.content_root, location.href);

const fill = versions => {
  document.querySelectorAll(".versions").forEach(label => {
    const list = label.querySelector("select");
    for (const version of versions) {
      const here = root.pathname.endsWith(`/${version}/`);
      list.add(new Option(version, version, here, here));
    }
    label.hidden = false;
    list.addEventListener("change", async () => {
      const start = new URL(`../${list.value}/`, root);
      const same = new URL(`${list.dataset.page}.html`, start);
      const answer = await fetch(same, {method: "HEAD"});
      location.href = answer.ok ? same : start;
    });
  });
};

if (location.protocol !== "file:")
  fetch(new URL("../versions.json", root))
    .then(answer => answer.ok ? answer.json() : [])
    .then(versions => versions.length && fill(versions))
    .catch(() => {});
