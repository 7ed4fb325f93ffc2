import torch


def out_of_memory(model, loader, optimizer):
    for batch in loader:
        try:
            loss = model(batch)
            loss.backward()
            optimizer.step()
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            optimizer.zero_grad()
            torch.cuda.empty_cache()
            continue


def out_of_memory_class(model, loader, optimizer):
    for batch in loader:
        try:
            model(batch).backward()
            optimizer.step()
        except torch.cuda.OutOfMemoryError:
            optimizer.zero_grad(set_to_none=True)
            continue


def iterator_restart(model, loader, optimizer, steps):
    source = iter(loader)
    for _ in range(steps):
        try:
            batch = next(source)
        except StopIteration:
            source = iter(loader)
            continue
        model(batch).backward()
        optimizer.step()
        optimizer.zero_grad()


def counted(model, loader, optimizer, budget):
    failed = 0
    for batch in loader:
        try:
            model(batch).backward()
            optimizer.step()
        except Exception:
            failed += 1
            if failed > budget:
                raise
            continue


def logging_only(model, loader, optimizer, writer):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        try:
            writer.add_scalar("loss", loss.item())
        except Exception:
            pass


def gradient_is_optional(model, loader, optimizer):
    for batch in loader:
        try:
            lr = optimizer.param_groups[0]["lr"]
        except Exception:
            lr = 0.0
        model(batch).backward()
        optimizer.step()
        print(lr)


def skip_missing_files(paths):
    for path in paths:
        try:
            read(path)
        except Exception:
            continue


def interrupted(model, loader, optimizer):
    try:
        for batch in loader:
            model(batch).backward()
            optimizer.step()
    except KeyboardInterrupt:
        pass


def stops(model, loader, optimizer):
    for batch in loader:
        try:
            model(batch).backward()
            optimizer.step()
        except Exception as error:
            print(error)
            break


def per_run(configs, loader):
    # A failed trial of a search is skipped, not a failed step.
    for config in configs:
        try:
            train(build(config), loader)
        except Exception:
            continue


def any_runtime_error(model, loader, optimizer):
    # Narrow enough: what is meant here is the memory of the device.
    for batch in loader:
        try:
            model(batch).backward()
            optimizer.step()
        except RuntimeError:
            optimizer.zero_grad()
            torch.cuda.empty_cache()
            continue
